"""One trial of the search: linear probe with SGD, a metric line for each step."""
import argparse
import json
import os
import time

import torch

p = argparse.ArgumentParser()
p.add_argument("--name")
p.add_argument("--lr", type=float)
p.add_argument("--steps", type=int)
a = p.parse_args()
parent = os.getppid()
g = torch.Generator().manual_seed(3)
w_true = torch.randn(20, 1, generator=g)
w = torch.zeros(20, 1, requires_grad=True)
with open(f"trials/{a.name}.jsonl", "w", buffering=1) as out:
    for step in range(1, a.steps + 1):
        x = torch.randn(64, 20, generator=g)
        loss = ((x @ w - x @ w_true - 0.2 * torch.randn(64, 1, generator=g)) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            w -= a.lr * w.grad
            w.grad.zero_()
        out.write(json.dumps({"step": step, "loss": loss.item()}) + "\n")
        if step % 50 == 0:
            torch.save({"w": w.detach(), "step": step}, f"trials/{a.name}.pt")
        time.sleep(0.3)
        if os.getppid() != parent:
            break
