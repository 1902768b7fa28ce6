"""Surrogate for the channel solver; fresh samples are solved while we train."""
import json
import os
import random
import subprocess
import sys
import time

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(1)
random.seed(1)


class Solver:
    def __init__(self):
        self.p = subprocess.Popen([sys.executable, "solver.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)

    def __call__(self, nu, push):
        self.p.stdin.write(json.dumps({"nu": nu, "push": push}) + "\n")
        self.p.stdin.flush()
        return json.loads(self.p.stdout.readline())["u"]


def main():
    os.makedirs("ckpt", exist_ok=True)
    solver = Solver()
    net = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 12))
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    pool = []
    for step in range(1, 1001):
        nu, push = random.uniform(0.05, 0.3), random.uniform(0.2, 2.0)
        pool.append((torch.tensor([nu * 4 - 0.7, push - 1.1]), torch.tensor(solver(nu, push))))
        for _ in range(4):
            pick = random.choices(pool, k=16)
            x = torch.stack([a for a, _ in pick])
            y = torch.stack([b for _, b in pick])
            loss = nn.functional.mse_loss(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        time.sleep(0.34)
        if step % 5 == 0:
            print(f"{time.strftime('%H:%M:%S')} step {step} samples {len(pool)} mse {loss.item():.5f}", flush=True)
        if step % 50 == 0:
            torch.save(net.state_dict(), f"ckpt/surrogate_{step:04d}.pt")
            print(f"{time.strftime('%H:%M:%S')} wrote ckpt/surrogate_{step:04d}.pt", flush=True)
    solver.p.stdin.close()
    print("done", flush=True)


if __name__ == "__main__":
    main()
