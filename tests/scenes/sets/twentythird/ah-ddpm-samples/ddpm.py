"""Small DDPM on 8x8 digits; samples go to scratch/ as single images."""
import os
import time

import numpy as np
import torch
from PIL import Image
from rich.console import Console
from sklearn.datasets import load_digits
from torch import nn

con = Console(width=110, force_terminal=False)
torch.manual_seed(0)
torch.set_num_threads(1)
T = 60
beta = torch.linspace(1e-3, 0.12, T)
abar = torch.cumprod(1 - beta, 0)
x0 = torch.tensor(load_digits().data, dtype=torch.float32) / 8 - 1
net = nn.Sequential(nn.Linear(64 + 16, 192), nn.SiLU(), nn.Linear(192, 192), nn.SiLU(), nn.Linear(192, 64))
ema = [p.detach().clone() for p in net.parameters()]
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)


def emb(t):
    f = torch.exp(-torch.arange(8) / 2.0)
    return torch.cat([torch.sin(t[:, None] * f), torch.cos(t[:, None] * f)], 1)


@torch.no_grad()
def sample(n):
    x = torch.randn(n, 64)
    for i in reversed(range(T)):
        e = net(torch.cat([x, emb(torch.full((n,), float(i)))], 1))
        x = (x - beta[i] / (1 - abar[i]).sqrt() * e) / (1 - beta[i]).sqrt()
        if i:
            x += beta[i].sqrt() * torch.randn_like(x)
    return x.clamp(-1, 1)


con.print(f"[bold]ddpm[/bold] {sum(p.numel() for p in net.parameters())} parameters, 600 steps")
mean = None
for step in range(1, 601):
    i = torch.randint(0, len(x0), (128,))
    t = torch.randint(0, T, (128,))
    eps = torch.randn(128, 64)
    xt = abar[t].sqrt()[:, None] * x0[i] + (1 - abar[t]).sqrt()[:, None] * eps
    loss = (net(torch.cat([xt, emb(t.float())], 1)) - eps).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    for a, p in zip(ema, net.parameters()):
        a.lerp_(p.detach(), 0.02)
    mean = loss.item() if mean is None else 0.9 * mean + 0.1 * loss.item()
    if step % 10 == 0:
        con.log(f"step {step}/600 loss {mean:.4f}")
        for k, img in enumerate(sample(12)):
            a = ((img.reshape(8, 8).numpy() + 1) * 127.5).astype(np.uint8)
            os.makedirs(f"scratch/s{step:04d}", exist_ok=True)
            Image.fromarray(a).save(f"scratch/s{step:04d}/{k:02d}.png")
    if step % 75 == 0:
        torch.save({"net": net.state_dict(), "ema": ema}, "scratch/ddpm.tmp")
        os.replace("scratch/ddpm.tmp", "scratch/ddpm.pt")
        con.log(f"saved scratch/ddpm.pt at {step}")
    time.sleep(0.24)
con.print("finished")
