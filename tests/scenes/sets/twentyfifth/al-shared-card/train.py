"""Cell segmentation with ignite; the card is shared, one process at a time (gpu0.lock)."""
import os
import time

import torch
from filelock import FileLock
from ignite.engine import Engine, Events
from ignite.handlers import ModelCheckpoint
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)
card = FileLock("gpu0.lock")
net = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 1, 1))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
yy, xx = torch.meshgrid(torch.arange(32.), torch.arange(32.), indexing="ij")


def cells(n):
    m = torch.zeros(n, 1, 32, 32)
    for i in range(n):
        for _ in range(4):
            r, c, s = torch.rand(3)
            m[i, 0] = torch.maximum(m[i, 0], (((yy - r * 32) ** 2 + (xx - c * 32) ** 2) < (2 + 3 * s) ** 2).float())
    return 0.7 * m + 0.4 * torch.randn(n, 1, 32, 32), m


def update(engine, batch):
    t0 = time.time()
    x, y = cells(8)
    with card:
        time.sleep(0.25)
        logit = net(x)
        loss = nn.functional.binary_cross_entropy_with_logits(logit, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    time.sleep(0.1)
    inter = ((logit > 0) & (y > 0)).sum() * 2
    return loss.item(), float(inter / ((logit > 0).sum() + (y > 0).sum() + 1)), time.time() - t0


trainer = Engine(update)


@trainer.on(Events.ITERATION_COMPLETED(every=3))
def line(e):
    loss, dice, dt = e.state.output
    print(f"[{time.strftime('%H:%M:%S')}] iter {e.state.iteration:4d}  loss {loss:.4f}  dice {dice:.3f}  {dt:.2f} s/it  {8 / dt:.1f} img/s", flush=True)


if __name__ == "__main__":
    with open("pid", "w") as f:
        f.write(str(os.getpid()))
    keep = ModelCheckpoint("ckpt", "cells", n_saved=3, require_empty=False)
    trainer.add_event_handler(Events.ITERATION_COMPLETED(every=50), keep, {"net": net, "opt": opt})
    trainer.run(range(100), max_epochs=6)
    print("training finished", flush=True)
