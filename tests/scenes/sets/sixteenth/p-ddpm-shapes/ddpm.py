"""Small DDPM on 16x16 grey patches. Usage: python ddpm.py --steps 400"""
import argparse
import json
import math
import sys
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)


class Eps(nn.Module):
    def __init__(self, ch=16):
        super().__init__()
        self.t = nn.Sequential(nn.Linear(32, ch), nn.SiLU(), nn.Linear(ch, ch))
        self.i = nn.Conv2d(1, ch, 3, padding=1)
        self.m = nn.Sequential(nn.SiLU(), nn.Conv2d(ch, ch, 3, padding=1), nn.SiLU(), nn.Conv2d(ch, ch, 3, padding=1))
        self.o = nn.Conv2d(ch, 1, 3, padding=1)

    def forward(self, x, t):
        f = torch.exp(-math.log(1e4) * torch.arange(16) / 16)
        a = t[:, None].float() * f
        e = self.t(torch.cat([a.sin(), a.cos()], 1))[:, :, None, None]
        h = self.i(x) + e
        return self.o(h + self.m(h))


def patches(shard, per_shard=256):
    """One shard of scanned patches, as the microscope export writes them."""
    g = np.random.default_rng(shard)
    yy, xx = np.mgrid[:16, :16]
    out = np.empty((per_shard, 16, 16), np.float32)
    for k in range(per_shard):
        cx, cy, r = g.uniform(4, 12, 2).tolist() + [g.uniform(2, 5)]
        out[k] = np.clip(255 * np.exp(-((xx - cx) ** 2 + (yy - cy) ** 2) / r**2) + g.normal(0, 4, (16, 16)), 0, 255)
    if shard == 7:  # slide edge: the stage left the tissue here
        out[::32] = 255.0
    return torch.from_numpy(out)


def standardise(x):
    mean = x.mean((1, 2), keepdim=True)
    std = x.std((1, 2), keepdim=True)
    return ((x - mean) / std)[:, None]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=400)
    p.add_argument("--bs", type=int, default=32)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--out", default="runs/ddpm")
    a = p.parse_args()
    torch.manual_seed(1)
    out = Path(a.out)
    out.mkdir(parents=True, exist_ok=True)
    T = 200
    beta = torch.linspace(1e-4, 0.02, T)
    abar = torch.cumprod(1 - beta, 0)
    net, ema = Eps(), Eps()
    ema.load_state_dict(net.state_dict())
    opt = torch.optim.AdamW(net.parameters(), lr=a.lr)
    print(json.dumps({"event": "config", **vars(a), "params": sum(q.numel() for q in net.parameters())}), flush=True)
    step, shard, t0 = 0, 0, time.time()
    while step < a.steps:
        data = standardise(patches(shard))
        shard += 1
        for xb in data.split(a.bs):
            t = torch.randint(0, T, (len(xb),))
            eps = torch.randn_like(xb)
            ab = abar[t][:, None, None, None]
            loss = (net(ab.sqrt() * xb + (1 - ab).sqrt() * eps, t) - eps).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            gn = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
            with torch.no_grad():
                for e, q in zip(ema.parameters(), net.parameters()):
                    e.lerp_(q, 0.01)
            step += 1
            time.sleep(0.35)
            if step % 5 == 0:
                print(json.dumps({"step": step, "shard": shard - 1, "loss": round(loss.item(), 5), "grad_norm": round(gn.item(), 4),
                                  "lr": opt.param_groups[0]["lr"], "elapsed": round(time.time() - t0, 1)}), flush=True)
            if step % 40 == 0:
                torch.save({"net": net.state_dict(), "ema": ema.state_dict(), "step": step}, out / f"ckpt_{step:06d}.pt")
            if step >= a.steps:
                break
    print(json.dumps({"event": "done", "step": step}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
