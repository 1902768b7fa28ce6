"""Toy translation with warm restarts of the learning rate (SGDR); a snapshot is kept at the end of every cycle."""
import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from rich.console import Console

con = Console(width=120, highlight=False)
torch.manual_seed(1)
V, T, CYCLE = 50, 8, 70
os.makedirs("snapshots", exist_ok=True)


class Net(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.e = nn.Embedding(V, d)
        self.r = nn.GRU(d, d, batch_first=True, bidirectional=True)
        self.o = nn.Linear(2 * d, V)

    def forward(self, x):
        return self.o(self.r(self.e(x))[0])


net = Net()
opt = torch.optim.SGD(net.parameters(), lr=1.8, momentum=0.9)
sched = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=CYCLE, eta_min=0.01)
table = torch.randperm(V)
ema = None
for step in range(1, CYCLE * 5 + 1):
    x = torch.randint(0, V, (16, T))
    y = (table[x] + torch.roll(x, 1, 1) % 3) % V
    noisy = torch.where(torch.rand(16, T) < 0.03, torch.randint(0, V, (16, T)), y)
    loss = F.cross_entropy(net(x).flatten(0, 1), noisy.flatten())
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
    sched.step()
    ema = loss.item() if ema is None else 0.8 * ema + 0.2 * loss.item()
    time.sleep(0.3)
    if step % 10 == 0:
        con.print(f"[{time.strftime('%X')}] step {step:4d}/{CYCLE * 5}  lr {sched.get_last_lr()[0]:.3f}  loss {ema:.4f}", markup=False)
    if step % CYCLE == 0:
        torch.save(net.state_dict(), f"snapshots/cycle{step // CYCLE}.pt")
        con.print(f"end of cycle {step // CYCLE}: snapshot kept; warm restart, lr back to 1.8 (the loss will jump)", markup=False)
con.print("finished", markup=False)
