import argparse
import pathlib
import sys
import time

import torch
import torch.nn as nn
from tqdm import tqdm

ap = argparse.ArgumentParser()
ap.add_argument("--iters", type=int, default=2000)
ap.add_argument("--ckpt-dir", type=pathlib.Path, default="ckpt")
ap.add_argument("--ckpt-every", type=int, default=40)
opt_ = ap.parse_args()

T = 100
BETA = torch.linspace(1e-4, 0.05, T)
ABAR = torch.cumprod(1 - BETA, 0)


class Denoiser(nn.Module):
    def __init__(self, d=144, w=256):
        super().__init__()
        self.t = nn.Embedding(T, w)
        self.inp, self.mid, self.out = nn.Linear(d, w), nn.Linear(w, w), nn.Linear(w, d)

    def forward(self, x, t):
        h = torch.relu(self.inp(x) + self.t(t))
        return self.out(torch.relu(self.mid(h)) + h)


def glyphs(n):
    """Bars and boxes on a 12x12 grid."""
    x = -torch.ones(n, 12, 12)
    for i in range(n):
        a, b = torch.randint(1, 10, (2,)).tolist()
        if i % 2:
            x[i, a:a + 2, :] = 1
        else:
            x[i, :, b:b + 2] = 1
    return x.flatten(1)


def save(it, net, ema, opt, bar):
    path = opt_.ckpt_dir / f"glyphs-{it:06d}.pt"
    try:
        torch.save({"it": it, "net": net.state_dict(), "ema": ema, "opt": opt.state_dict()}, path)
        bar.write(f"[ckpt] {path}", file=sys.stderr)
    except Exception as e:
        bar.write(f"[ckpt] {path}: {type(e).__name__}: {str(e).splitlines()[0]}", file=sys.stderr)


torch.manual_seed(0)
net = Denoiser()
ema = {k: v.clone() for k, v in net.state_dict().items()}
opt = torch.optim.AdamW(net.parameters(), 1e-3)
smooth = None
bar = tqdm(range(1, opt_.iters + 1), desc="ddpm", mininterval=2, ncols=90)
for it in bar:
    x0 = glyphs(32)
    t = torch.randint(0, T, (32,))
    noise = torch.randn_like(x0)
    a = ABAR[t].unsqueeze(1)
    loss = nn.functional.mse_loss(net(a.sqrt() * x0 + (1 - a).sqrt() * noise, t), noise)
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for k, v in net.state_dict().items():
            ema[k].mul_(0.99).add_(v, alpha=0.01)
    smooth = loss.item() if smooth is None else 0.95 * smooth + 0.05 * loss.item()
    bar.set_postfix(loss=f"{smooth:.4f}", refresh=False)
    time.sleep(0.12)
    if it % opt_.ckpt_every == 0:
        save(it, net, ema, opt, bar)
