import json
import time

import numpy as np
import torch
import torch.nn as nn
from accelerate import Accelerator
from accelerate.logging import get_logger
from accelerate.utils import set_seed
import logging

logging.basicConfig(format="%(asctime)s - %(levelname)s - %(name)s - %(message)s", datefmt="%m/%d/%Y %H:%M:%S", level=logging.INFO)
logger = get_logger(__name__)


def main():
    acc = Accelerator(cpu=True)
    logger.info(acc.state, main_process_only=False)
    set_seed(17)
    model = nn.Sequential(nn.Embedding(97, 24), nn.Linear(24, 64), nn.GELU(), nn.Linear(64, 97))
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    model, opt = acc.prepare(model, opt)
    names = json.load(open("shards/manifest.json"))
    logger.info("***** Running training *****")
    logger.info(f"  Num shards = {len(names)}")
    logger.info(f"  Num processes = {acc.num_processes}")
    step = 0
    for k in range(acc.process_index, len(names), acc.num_processes):
        data = torch.from_numpy(np.load(f"shards/{names[k]}")).long()
        for b in data.split(8):
            loss = nn.functional.cross_entropy(model(b[:, :-1]).flatten(0, 1), b[:, 1:].flatten())
            acc.backward(loss)
            opt.step()
            opt.zero_grad()
            step += 1
            time.sleep(0.35)
            if step % 8 == 0:
                mean = acc.gather(loss.detach().reshape(1)).mean().item()
                logger.info(f"step {step}: loss = {mean:.4f}")
    acc.wait_for_everyone()
    if acc.is_main_process:
        torch.save(acc.unwrap_model(model).state_dict(), "model.bin")
    acc.end_training()


if __name__ == "__main__":
    main()
