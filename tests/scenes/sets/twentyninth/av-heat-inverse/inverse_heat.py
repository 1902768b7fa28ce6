"""Inverse PINN: finds the heat loss h of a rod from a few thermometers (a fin: u_t = k (u_xx - m^2 u), m = sqrt(h / k))."""
import math
import os
import time

import torch
import torch.nn as nn

PAUSE = float(os.environ.get("PAUSE", "0.085"))
torch.set_num_threads(1)
torch.manual_seed(1)
K = 0.016  # from the catalogue


def truth(x, t):
    return torch.exp(-0.0132 * math.pi**2 * t) * torch.sin(math.pi * x)


net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
h = nn.Parameter(torch.tensor(0.60))
opt = torch.optim.Adam([{"params": net.parameters(), "lr": 2e-3}, {"params": [h], "lr": 1.4e-3}])
xs, ts = torch.rand(200, 1), torch.rand(200, 1)
us = truth(xs, ts) + 0.01 * torch.randn(200, 1)


def residual(n=256):
    x = torch.rand(n, 1, requires_grad=True)
    t = torch.rand(n, 1, requires_grad=True)
    u = net(torch.cat([x, t], 1))
    ux, ut = torch.autograd.grad(u.sum(), (x, t), create_graph=True)
    uxx = torch.autograd.grad(ux.sum(), x, create_graph=True)[0]
    m = torch.sqrt(h / K)
    return ut - K * (uxx - m**2 * u)


started = time.time()
for it in range(1, 20001):
    pde = residual().square().mean()
    data = (net(torch.cat([xs, ts], 1)) - us).square().mean()
    loss = pde + 20 * data
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(PAUSE)
    if it % 5 == 0:
        print(f"It {it:6d} | loss {loss.item():.3e} | pde {pde.item():.3e} | data {data.item():.3e} | h {h.item():.4f} | {time.time() - started:.1f} s", flush=True)
    if it % 200 == 0:
        torch.save({"net": net.state_dict(), "h": h.detach()}, "pinn_last.pt")
