"""One member: policy gradient through a differentiable kite, saved every ten updates."""
import json
import os
import sys
import time

import torch
from torch import nn

torch.set_num_threads(1)
k, lr = int(sys.argv[1]), float(sys.argv[2])
torch.manual_seed(k + os.getpid() % 7)
net = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 1))
if os.path.exists(f"pop/{k}.pt"):
    net.load_state_dict(torch.load(f"pop/{k}.pt"))
opt = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9)


def fly(n=32):
    x, v = torch.randn(n) * 0.8, torch.zeros(n)
    wind, cost = torch.zeros(n), 0.0
    for _ in range(25):
        wind = 0.9 * wind + 0.1 * torch.randn(n)
        u = net(torch.stack([x, v, wind], 1))[:, 0]
        v = v + 0.2 * (u + wind - 0.3 * v)
        x = x + 0.2 * v
        cost = cost + (x ** 2 + 0.02 * u ** 2).mean()
    return cost / 25


n, mean = 0, None
while True:
    n += 1
    c = fly()
    opt.zero_grad()
    c.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
    mean = c.item() if mean is None else 0.9 * mean + 0.1 * c.item()
    time.sleep(0.45)
    if n % 10 == 0:
        torch.save(net.state_dict(), f"pop/{k}.pt.new")
        os.replace(f"pop/{k}.pt.new", f"pop/{k}.pt")
        with open(f"pop/{k}.json.new", "w") as f:
            json.dump({"fitness": -mean, "updates": n}, f)
        os.replace(f"pop/{k}.json.new", f"pop/{k}.json")
        print(f"{time.strftime('%H:%M:%S')} [member {k}] update {n} cost {mean:.4f}", flush=True)
