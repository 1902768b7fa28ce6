"""Cells in microscope pictures; resumes from ckpt/last.pt when it is there."""
import argparse
import logging
import os
import pathlib
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

logging.basicConfig(format="%(asctime)s - %(name)s - %(levelname)s - %(message)s", level=logging.INFO)
log = logging.getLogger("cells")
PAUSE = float(os.environ.get("PAUSE", "0.36"))
torch.set_num_threads(1)
yy, xx = np.mgrid[0:48, 0:48]


class Cells(Dataset):
    def __init__(self, n, seed):
        self.n, self.seed = n, seed

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        r = np.random.default_rng((self.seed, i))
        mask = np.zeros((48, 48), bool)
        for _ in range(r.integers(2, 6)):
            cy, cx, a, b = *r.uniform(4, 44, 2), *r.uniform(3, 8, 2)
            mask |= ((yy - cy) / a) ** 2 + ((xx - cx) / b) ** 2 < 1
        image = 0.25 + 0.3 * mask + 0.1 * np.sin(xx / 9 + r.uniform(0, 6)) + r.normal(0, 0.14, mask.shape)
        return torch.tensor(image[None], dtype=torch.float32), torch.tensor(mask[None], dtype=torch.float32)


def net():
    c = lambda a, b, d=1: nn.Sequential(nn.Conv2d(a, b, 3, padding=d, dilation=d), nn.BatchNorm2d(b), nn.ReLU())
    return nn.Sequential(c(1, 8), c(8, 12, 2), c(12, 12, 4), c(12, 8), nn.Conv2d(8, 1, 1))


def dice_loss(p, y):
    p = p.sigmoid()
    return 1 - (2 * (p * y).sum((1, 2, 3)) + 1) / (p.sum((1, 2, 3)) + y.sum((1, 2, 3)) + 1)


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--epochs", type=int, default=14)
    a.add_argument("--workers", type=int, default=1)
    a = a.parse_args()
    last = pathlib.Path("ckpt/last.pt")
    last.parent.mkdir(exist_ok=True)
    torch.manual_seed(0)
    model = net()
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    first = 0
    if last.exists():
        state = torch.load(last)
        model.load_state_dict(state["model"])
        opt.load_state_dict(state["opt"])
        first = state["epoch"] + 1
        log.info("resumed from %s, epoch %d", last, first)
    val = [next(iter(DataLoader(Cells(48, 2), 48)))]
    for epoch in range(first, a.epochs):
        loader = DataLoader(Cells(34 * 8, 100 + epoch), 8, num_workers=a.workers)
        model.train()
        for i, (x, y) in enumerate(loader, 1):
            p = model(x)
            loss = F.binary_cross_entropy_with_logits(p, y) + dice_loss(p, y).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            time.sleep(PAUSE)
            if i % 2 == 0:
                log.info("epoch %d [%d/%d] loss %.4f", epoch, i, len(loader), loss.item())
        model.eval()
        with torch.no_grad():
            dice = 1 - torch.cat([dice_loss((model(x) * 1e3), y) for x, y in val]).mean().item()
        torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "epoch": epoch}, last)
        log.info("epoch %d done, val dice %.4f, saved %s", epoch, dice, last)
    log.info("training complete")


if __name__ == "__main__":
    main()
