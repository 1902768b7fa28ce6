"""Pose lifting, in time slices: the box belongs to others between the slices."""
import argparse
import glob
import os
import sys
import time

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--total", type=int, default=420)
    p.add_argument("--slice", type=int, default=150, help="steps per slice")
    p.add_argument("--every", type=int, default=25)
    a = p.parse_args()
    set_seed(2)
    torch.set_num_threads(1)
    acc = Accelerator(cpu=True)
    g = torch.Generator().manual_seed(2)
    x = torch.randn(4000, 34, generator=g)
    y = torch.tanh(x[:, :17] * x[:, 17:])
    net = torch.nn.Sequential(torch.nn.Linear(34, 96), torch.nn.ReLU(), torch.nn.Linear(96, 17))
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    net, opt, loader = acc.prepare(net, opt, DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True))
    step = 0
    saved = sorted(glob.glob("ckpts/step_*"))
    if saved:
        acc.load_state(saved[-1])
        step = int(saved[-1].rsplit("_", 1)[1])
        acc.print(f"resuming from {saved[-1]}", flush=True)
    end = min(step + a.slice, a.total)
    while True:
        for xb, yb in loader:
            loss = torch.nn.functional.smooth_l1_loss(net(xb), yb)
            acc.backward(loss)
            opt.step()
            opt.zero_grad()
            time.sleep(0.13)
            step += 1
            if step % 10 == 0:
                acc.print(f"step {step}/{a.total} | loss {loss.item():.5f}", flush=True)
            if step % a.every == 0 or step == end:
                acc.save_state(f"ckpts/step_{step}")
            if step == a.total:
                open("DONE", "w").close()
                acc.print("all steps done", flush=True)
                return 0
            if step == end:
                acc.print(f"end of the slice at step {step}, saved ckpts/step_{step}", flush=True)
                return 0


if __name__ == "__main__":
    os.makedirs("ckpts", exist_ok=True)
    sys.exit(main())
