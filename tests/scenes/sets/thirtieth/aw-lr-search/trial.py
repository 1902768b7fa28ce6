"""One trial of the search: a regression of bike rentals by hour with a small residual net. Prints the result as JSON."""
import argparse
import json
import math
import os
import time

import torch
from torch import nn

p = argparse.ArgumentParser()
p.add_argument("--name", required=True)
p.add_argument("--lr", type=float, required=True)
p.add_argument("--width", type=int, default=64)
p.add_argument("--momentum", type=float, default=0.9)
a = p.parse_args()
torch.set_num_threads(1)
torch.manual_seed(0)
PACE = float(os.environ.get("PACE", "0.3"))
n = 4000
x = torch.rand(n, 6) * 2 - 1
y = (torch.sin(3 * x[:, 0]) + x[:, 1] * x[:, 2] - 0.5 * x[:, 3].abs() + 0.1 * torch.randn(n)) * 3


class Res(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.i, self.a, self.b, self.o = nn.Linear(6, w), nn.Linear(w, w), nn.Linear(w, w), nn.Linear(w, 1)

    def forward(self, v):
        h = torch.relu(self.i(v))
        h = h + torch.relu(self.a(h))
        return self.o(h + torch.relu(self.b(h))).squeeze(1)


net = Res(a.width)
opt = torch.optim.SGD(net.parameters(), a.lr, momentum=a.momentum)
for epoch in range(1, 61):
    run = 0
    for i in range(0, 3200, 160):
        loss = ((net(x[i:i + 160]) - y[i:i + 160]) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        run += loss.item() / 20
    with torch.no_grad():
        val = ((net(x[3200:]) - y[3200:]) ** 2).mean().item()
    print(f"[{a.name}] epoch {epoch:2d}/60 train_mse {run:.4f} val_mse {val:.4f}", flush=True)
    if not math.isfinite(val):
        print(f"[{a.name}] not finite, trial pruned", flush=True)
        print("RESULT " + json.dumps({**vars(a), "state": "pruned"}), flush=True)
        break
    time.sleep(PACE)
else:
    print("RESULT " + json.dumps({**vars(a), "state": "complete", "val_mse": round(val, 4)}), flush=True)
