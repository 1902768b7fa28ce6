"""Tide gauge forecast; the job is cut into slices. A writer thread saves while the training goes on."""
import argparse
import json
import os
import queue
import threading
import time

import numpy as np
import torch
from torch import nn


class Writer(threading.Thread):
    """One .npy a tensor below ckpt/<step>/; the storage is slow, so it must not stop the training."""

    def __init__(self):
        super().__init__(daemon=True)
        self.q = queue.Queue()

    def run(self):
        while True:
            step, tensors = self.q.get()
            d = f"ckpt/{step:06d}"
            os.makedirs(d, exist_ok=True)
            with open(d + "/step.json", "w") as f:
                json.dump({"step": step}, f)
            for name, t in tensors.items():
                np.save(f"{d}/{name}.npy", t)
                time.sleep(0.5)                       # network storage

    def save(self, step, model):
        self.q.put((step, {k: v.detach().numpy().copy() for k, v in model.state_dict().items()}))


def restore(model):
    have = sorted(os.listdir("ckpt"))
    if not have:
        return 0
    d = "ckpt/" + have[-1]
    sd = model.state_dict()
    for f in sorted(os.listdir(d)):
        if f.endswith(".npy"):
            sd[f[:-4]] = torch.from_numpy(np.load(f"{d}/{f}"))
    model.load_state_dict(sd)
    step = json.load(open(d + "/step.json"))["step"]
    n = len([f for f in os.listdir(d) if f.endswith(".npy")])
    print(f"restored {d}: {n} of {len(sd)} tensors, step {step}", flush=True)
    return step


def batch(g):
    t0 = torch.rand(64, 1, generator=g) * 200
    t = t0 + torch.arange(40)
    tide = torch.sin(t * 0.506) + 0.5 * torch.sin(t * 0.262) + 0.3 * torch.sin(t * 0.04)
    return tide[:, :32], tide[:, 32:]


ap = argparse.ArgumentParser()
ap.add_argument("--slice", type=int)
ap.add_argument("--until", type=int)
ap.add_argument("--total", type=int)
a = ap.parse_args()
torch.manual_seed(a.slice)
model = nn.Sequential(nn.Linear(32, 96), nn.GELU(), nn.Linear(96, 96), nn.GELU(), nn.Linear(96, 96), nn.GELU(),
                      nn.Linear(96, 96), nn.GELU(), nn.Linear(96, 96), nn.GELU(), nn.Linear(96, 8))
start = restore(model)
opt = torch.optim.Adam(model.parameters(), lr=1e-4)
g = torch.Generator().manual_seed(100 + a.slice)
writer = Writer()
writer.start()
print(f"slice {a.slice}: steps {start}..{a.until} of {a.total}", flush=True)
run = None
for step in range(start + 1, a.until + 1):
    x, y = batch(g)
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.16)
    run = loss.item() if run is None else 0.8 * run + 0.2 * loss.item()
    if step % 10 == 0:
        print(f"  step={step}/{a.total} mse={run:.5f}", flush=True)
    if step % 110 == 0:
        writer.save(step, model)
        print(f"  checkpoint {step} handed to the writer", flush=True)
print(f"slice {a.slice} complete at step {a.until}", flush=True)
