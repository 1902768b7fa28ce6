"""Glacier outline segmentation on made-up tiles."""
import argparse
import logging
import os
import time

import torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s [%(levelname)s] %(name)s: %(message)s", datefmt="%Y-%m-%d %H:%M:%S")
log = logging.getLogger("segment")


class Lock:
    """weights/.lock, as a folder: making it is atomic on the shared disk."""

    def __enter__(self):
        while True:
            try:
                os.mkdir("weights/.lock")
                return
            except FileExistsError:
                time.sleep(0.5)

    def __exit__(self, *_):
        os.rmdir("weights/.lock")


def tiles(g, n=8, s=24):
    yy, xx = torch.meshgrid(torch.arange(s), torch.arange(s), indexing="ij")
    c = torch.rand(n, 2, 1, 1, generator=g) * s
    r = 4 + 5 * torch.rand(n, 1, 1, generator=g)
    mask = (((yy - c[:, 0]) ** 2 + (xx - c[:, 1]) ** 2).sqrt() < r).float()
    return (mask * 0.7 + torch.randn(n, s, s, generator=g) * 0.5).unsqueeze(1), mask.unsqueeze(1)


ap = argparse.ArgumentParser()
ap.add_argument("--steps", type=int, default=900)
ap.add_argument("--save-every", type=int, default=20)
a = ap.parse_args()
torch.manual_seed(4)
net = nn.Sequential(nn.Conv2d(1, 8, 5, padding=2), nn.ReLU(), nn.Conv2d(8, 8, 5, padding=2), nn.ReLU(), nn.Conv2d(8, 1, 1))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
g = torch.Generator().manual_seed(9)
log.info("segmentation net, %d parameters, %d steps", sum(p.numel() for p in net.parameters()), a.steps)
for step in range(1, a.steps + 1):
    x, m = tiles(g)
    out = net(x)
    loss = nn.functional.binary_cross_entropy_with_logits(out, m)
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.25)
    if step % 5 == 0:
        iou = ((out > 0) & (m > 0)).sum().item() / max(1, ((out > 0) | (m > 0)).sum().item())
        log.info("step %d/%d  bce %.4f  iou %.3f", step, a.steps, loss.item(), iou)
    if step % a.save_every == 0:
        with Lock():
            torch.save(net.state_dict(), f"weights/step-{step:04d}.pt")
        log.info("weights saved (step %d)", step)
log.info("finished")
