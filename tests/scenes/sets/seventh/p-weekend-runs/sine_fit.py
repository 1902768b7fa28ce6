import argparse
import time

import torch
from torch import nn

p = argparse.ArgumentParser()
p.add_argument("name")
p.add_argument("--width", type=int, required=True)
p.add_argument("--lr", type=float, required=True)
p.add_argument("--epochs", type=int, default=30)
a = p.parse_args()
torch.manual_seed(2)
torch.set_num_threads(1)
x = torch.linspace(-3, 3, 400)[:, None]
y = torch.sin(2 * x) + 0.05 * torch.randn(400, 1)
net = nn.Sequential(nn.Linear(1, a.width), nn.Tanh(), nn.Linear(a.width, a.width), nn.Tanh(), nn.Linear(a.width, 1))
opt = torch.optim.Adam(net.parameters(), a.lr)
for ep in range(1, a.epochs + 1):
    for _ in range(8):
        loss = ((net(x) - y) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.08)
    print(f"{a.name}: epoch {ep}/{a.epochs} mse {loss.item():.5f}", flush=True)
torch.save(net.state_dict(), f"{a.name}.pt")
print(f"{a.name}: saved {a.name}.pt", flush=True)
