"""DDPM on 16x16 glyphs with EMA weights; draws a sheet of samples now and then."""
import copy
import csv
import glob
import os
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image

PAUSE = float(os.environ.get("PAUSE", "0.27"))
torch.set_num_threads(1)
torch.manual_seed(6)
rng = np.random.default_rng(6)
T, S, STEPS = 200, 16, 440
beta = torch.linspace(1e-4, 0.03, T)
abar = torch.cumprod(1 - beta, 0)


def glyphs(n):
    out = np.full((n, 1, S, S), -1, np.float32)
    for g in out:
        for _ in range(rng.integers(2, 5)):
            if rng.random() < 0.5:
                g[0, rng.integers(2, 14), 3:13] = 1
            else:
                g[0, 3:13, rng.integers(2, 14)] = 1
    return torch.from_numpy(out)


class Net(nn.Module):
    def __init__(self, c=32):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(32, 64), nn.SiLU(), nn.Linear(64, c))
        self.inp = nn.Conv2d(1, c, 3, padding=1)
        self.mid = nn.ModuleList([nn.Sequential(nn.GroupNorm(4, c), nn.SiLU(), nn.Conv2d(c, c, 3, padding=d, dilation=d)) for d in (1, 2, 4, 1)])
        self.out = nn.Conv2d(c, 1, 3, padding=1)

    def forward(self, x, t):
        f = torch.exp(-torch.arange(16) * 0.5)
        e = t[:, None].float() * f
        h = self.inp(x) + self.time(torch.cat([e.sin(), e.cos()], 1))[:, :, None, None]
        for m in self.mid:
            h = h + m(h)
        return self.out(h)


net = Net()
ema = copy.deepcopy(net)
opt = torch.optim.Adam(net.parameters(), 1e-3)


@torch.no_grad()
def sheet(name):
    x = torch.randn(16, 1, S, S)
    for t in reversed(range(T)):
        e = ema(x, torch.full((16,), t))
        x = (x - beta[t] / (1 - abar[t]).sqrt() * e) / (1 - beta[t]).sqrt()
        if t:
            x += beta[t].sqrt() * torch.randn_like(x)
        time.sleep(PAUSE / 5)
    pic = ((x.clamp(-1, 1) + 1) * 127).byte().reshape(4, 4, S, S).permute(0, 2, 1, 3).reshape(4 * S, 4 * S)
    Image.fromarray(pic.numpy()).resize((256, 256), 0).save(name)


os.makedirs("samples", exist_ok=True)
log = csv.writer(open("progress.csv", "w", buffering=1))
log.writerow(["step", "loss", "grad_norm", "sec"])
began = time.time()
for step in range(1, STEPS + 1):
    x = glyphs(16)
    t = torch.randint(0, T, (16,))
    e = torch.randn_like(x)
    a = abar[t][:, None, None, None]
    loss = F.mse_loss(net(a.sqrt() * x + (1 - a).sqrt() * e, t), e)
    opt.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
    with torch.no_grad():
        for p, q in zip(ema.parameters(), net.parameters()):
            p.lerp_(q, 0.02)
    log.writerow([step, f"{loss.item():.5f}", f"{norm.item():.3f}", f"{time.time() - began:.1f}"])
    if step % 2 == 0:
        print(f"step={step} loss={loss.item():.5f} grad_norm={norm.item():.3f}", flush=True)
    if step % 110 == 0:
        print(f"drawing samples/{step:05d}.png ...", flush=True)
        sheet(f"samples/{step:05d}.png")
        torch.save({"net": net.state_dict(), "ema": ema.state_dict(), "opt": opt.state_dict()}, f"ddpm_{step:05d}.pt")
        for old in sorted(glob.glob("ddpm_*.pt"))[:-2]:
            os.remove(old)
            print("removed", old, flush=True)
    time.sleep(PAUSE)
print("training done", flush=True)
