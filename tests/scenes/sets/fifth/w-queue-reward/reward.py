"""Reward model on made-up preferences: reward.py NAME HIDDEN"""
import os
import sys
import time

import torch

name, hidden = sys.argv[1], int(sys.argv[2])
STEPS = 110


def main():
    torch.manual_seed(hidden)
    torch.set_num_threads(1)
    os.makedirs("models", exist_ok=True)
    with open("current.pid", "w") as f:
        f.write(str(os.getpid()))
    net = torch.nn.Sequential(torch.nn.Linear(32, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 1))
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
    w = torch.randn(32, 1)
    for step in range(1, STEPS + 1):
        a, b = torch.randn(2, 48, 32)
        flip = torch.where(torch.rand(48, 1) < 0.1, -1.0, 1.0)
        better = ((a - b) @ w).sign() * flip
        loss = -torch.nn.functional.logsigmoid(better * (net(a) - net(b))).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.2)
        if step % 10 == 0:
            print(f"{name}: step {step}/{STEPS} loss {loss.item():.4f}", flush=True)
    torch.save(net.state_dict(), f"models/{name}.pt")
    print(f"{name}: saved models/{name}.pt", flush=True)


main()
