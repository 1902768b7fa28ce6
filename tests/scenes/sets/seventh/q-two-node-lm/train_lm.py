import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import torch
import torch.nn as nn
from accelerate import Accelerator
from accelerate.logging import get_logger
from torch.utils.data import DataLoader, TensorDataset
import logging

logging.basicConfig(level=logging.INFO, format="%(asctime)s - %(levelname)s - %(name)s - %(message)s")
logger = get_logger(__name__)


def main():
    acc = Accelerator(cpu=True)
    torch.manual_seed(0)
    logger.info(acc.state)
    x = torch.randint(0, 64, (2048, 16))
    data = DataLoader(TensorDataset(x), batch_size=16, shuffle=True)
    model = nn.Sequential(nn.Embedding(64, 32), nn.Linear(32, 64))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model, opt, data = acc.prepare(model, opt, data)
    step = 0
    for epoch in range(3):
        for (b,) in data:
            loss = nn.functional.cross_entropy(model(b[:, :-1]).flatten(0, 1), b[:, 1:].flatten())
            opt.zero_grad()
            acc.backward(loss)
            opt.step()
            step += 1
            time.sleep(0.2)
            if step % 10 == 0:
                logger.info("step %d loss %.4f", step, loss.item())
        acc.save_state(f"state/epoch_{epoch}")


if __name__ == "__main__":
    main()
