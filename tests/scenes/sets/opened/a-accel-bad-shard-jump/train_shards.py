"""Digits classifier over npz shards, Accelerate. One line per 10 batches, one per shard."""
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, IterableDataset

SHARDS = Path("shards")


def export(n=26, rows=640):
    SHARDS.mkdir(exist_ok=True)
    rng = np.random.default_rng(4)
    centers = rng.random((10, 64)).astype("float32")
    for s in range(n):
        y = rng.integers(0, 10, rows)
        x = np.clip(centers[y] + 0.15 * rng.standard_normal((rows, 64)), 0, 1).astype("float32")
        if s >= 5:
            # written by the new exporter: pixels 0..255, rows sorted by file name, labels not
            x = (x * 255).round().astype("float32")
            y = rng.permutation(y)
        np.savez(SHARDS / f"shard-{s:03d}.npz", x=x, y=y)


class Shards(IterableDataset):
    def __iter__(self):
        for path in sorted(SHARDS.glob("*.npz")):
            print(f"[data] open {path}", flush=True)
            with np.load(path) as z:
                x, y = z["x"], z["y"]
            for i in range(len(y)):
                yield torch.from_numpy(x[i]), int(y[i])


def main():
    export()
    set_seed(8)
    acc = Accelerator(cpu=True)
    net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
    net, opt, loader = acc.prepare(net, opt, DataLoader(Shards(), batch_size=16))
    run, step, t0 = 0.0, 0, time.time()
    for x, y in loader:
        loss = F.cross_entropy(net(x), y)
        acc.backward(loss)
        opt.step()
        opt.zero_grad()
        run += loss.item()
        step += 1
        time.sleep(0.14)
        if step % 10 == 0:
            acc.print(f"it {step:5d}  loss {run / 10:8.4f}  lr {opt.param_groups[0]['lr']:.2e}  "
                      f"{step * 16 / (time.time() - t0):6.1f} samples/s", flush=True)
            run = 0.0
    acc.save_model(net, "final")


if __name__ == "__main__":
    main()
