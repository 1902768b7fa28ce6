"""Saves a real torch checkpoint of 9 MiB every few steps until the disk is full."""

import sys
import time

import torch

weights = torch.randn(9 << 18)
for step in range(1, 1000):
    loss = float((weights[:1000] ** 2).mean()) / step
    print(f"step {step * 10}/10000 loss {loss:.4f}", flush=True)
    time.sleep(0.2)
    if step % 8 == 0:
        torch.save({"model": weights}, f"{sys.argv[1]}/step-{step // 8}.pt")
