"""Toy DDPM on glyphs. Every 12 steps: EMA weights and a grid of samples, everything kept."""
import logging
import math
import os
import time

import numpy as np
import torch
import torch.nn as nn
from PIL import Image

PACE = float(os.environ.get("PACE", 0.4))
OUT = os.environ.get("OUT", "vol/ddpm-glyphs")
os.makedirs(OUT, exist_ok=True)
logging.basicConfig(level=logging.INFO, format="%(asctime)s | %(levelname)s | %(message)s")
log = logging.getLogger("ddpm")
torch.manual_seed(0)
torch.set_num_threads(1)
S, T = 12, 100
beta = torch.linspace(1e-4, 0.08, T)
abar = torch.cumprod(1 - beta, 0)


def glyphs(n):
    x = torch.full((n, S, S), -1.0)
    for i in range(n):
        a, b = torch.randint(1, 7, (2,)).tolist()
        x[i, a:a + 4, b] = 1
        x[i, a + 2, b:b + 4] = 1
    return x.flatten(1)


class Eps(nn.Module):
    def __init__(self, d=288):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(S * S + 32, d), nn.SiLU(), nn.Linear(d, d), nn.SiLU(), nn.Linear(d, d), nn.SiLU(), nn.Linear(d, S * S))

    def forward(self, x, t):
        w = torch.exp(-math.log(1000) * torch.arange(16) / 16)
        e = t[:, None] * w
        return self.f(torch.cat([x, e.sin(), e.cos()], 1))


net, ema = Eps(), Eps()
ema.load_state_dict(net.state_dict())
opt = torch.optim.AdamW(net.parameters(), 1e-3)


@torch.no_grad()
def sample(n=16):
    x = torch.randn(n, S * S)
    for t in reversed(range(T)):
        e = ema(x, torch.full((n,), float(t)))
        x = (x - beta[t] / (1 - abar[t]).sqrt() * e) / (1 - beta[t]).sqrt()
        if t:
            x += beta[t].sqrt() * torch.randn_like(x)
    return x.clamp(-1, 1).reshape(n, S, S)


log.info("DDPM %d parameters, output in %s", sum(p.numel() for p in net.parameters()), OUT)
for step in range(1, 2001):
    x0 = glyphs(64)
    t = torch.randint(0, T, (64,))
    noise = torch.randn_like(x0)
    a = abar[t][:, None]
    loss = (net(a.sqrt() * x0 + (1 - a).sqrt() * noise, t.float()) - noise).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for p, q in zip(ema.parameters(), net.parameters()):
            p.lerp_(q, 0.02)
    time.sleep(PACE)
    log.info("step %05d loss %.4f lr 1.0e-03", step, loss.item())
    if step % 12 == 0:
        path = f"{OUT}/ckpt_{step:06d}.pt"
        torch.save({"net": net.state_dict(), "ema": ema.state_dict(), "opt": opt.state_dict(), "step": step}, path)
        grid = ((np.hstack(list(sample().numpy())) + 1) * 127.5).astype(np.uint8)
        Image.fromarray(grid).resize((grid.shape[1] * 4, grid.shape[0] * 4), 0).save(f"{OUT}/samples_{step:06d}.png")
        log.info("saved %s and its samples", path)
