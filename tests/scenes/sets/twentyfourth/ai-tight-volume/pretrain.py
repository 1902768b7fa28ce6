"""Accelerate loop, large embedding. The scratch volume is small, so the oldest state goes when a new one is there."""
import logging
import os
import shutil
import time

import torch
import torch.nn as nn
from accelerate import Accelerator

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
log = logging.getLogger("pretrain")
KEEP, ROOT = 2, "scratch/states"


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    acc = Accelerator(cpu=True)
    model = nn.Sequential(nn.Embedding(24000, 64), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 97))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model, opt = acc.prepare(model, opt)
    os.makedirs(ROOT, exist_ok=True)
    kept = []
    for step in range(1, 361):
        x = torch.randint(0, 24000, (64,))
        x = torch.where(torch.rand(64) < 0.9, x % 500, x)
        loss = nn.functional.cross_entropy(model(x), x % 97)
        acc.backward(loss)
        opt.step()
        opt.zero_grad()
        time.sleep(0.25)
        if step % 10 == 0:
            log.info("step %d/360 loss %.4f", step, loss.item())
        if step % 40 == 0:
            where = f"{ROOT}/{step}"
            acc.save_state(where)
            kept.append(where)
            free = shutil.disk_usage("scratch")
            if free.free < 0.15 * free.total:
                log.warning("scratch is %.0f %% full", 100 * free.used / free.total)
            while len(kept) > KEEP:
                old = kept.pop(0)
                shutil.rmtree(old)
                log.info("removed %s", old)
            log.info("state saved: %s", where)
    log.info("training done")


if __name__ == "__main__":
    main()
