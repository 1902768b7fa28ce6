"""Coupling-flow density model. Log is JSON lines for the dashboard."""
import io
import json
import math
import os
import sys
import time

import torch
from torch import nn

CKPT_DIR = os.environ.get("CKPT_DIR", "scratch/ckpt")
STEPS = 900
SAVE_EVERY = 10


def emit(**kw):
    kw["ts"] = round(time.time(), 2)
    print(json.dumps(kw), flush=True)


class Coupling(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.half = dim // 2
        self.net = nn.Sequential(nn.Linear(self.half, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
                                 nn.Linear(hidden, dim))

    def forward(self, x):
        a, b = x[:, :self.half], x[:, self.half:]
        s, t = self.net(a).chunk(2, dim=1)
        s = torch.tanh(s)
        return torch.cat([b * torch.exp(s) + t, a], dim=1), s.sum(1)


class Flow(nn.Module):
    def __init__(self, dim=8, hidden=256, layers=4):
        super().__init__()
        self.dim = dim
        self.layers = nn.ModuleList([Coupling(dim, hidden) for _ in range(layers)])

    def nll(self, x):
        logdet = torch.zeros(len(x))
        for layer in self.layers:
            x, ld = layer(x)
            logdet = logdet + ld
        return (0.5 * (x ** 2).sum(1) + 0.5 * self.dim * math.log(2 * math.pi) - logdet).mean()


def save(step, model, opt):
    path = os.path.join(CKPT_DIR, f"flow_{step:05d}.pt")
    buf = io.BytesIO()
    torch.save({"step": step, "model": model.state_dict(), "opt": opt.state_dict()}, buf)
    try:
        with open(path, "wb") as f:
            f.write(buf.getbuffer())
    except OSError as e:
        # never let a save kill the night; the next one will work
        emit(event="save_failed", step=step, path=path, error=str(e))
    else:
        emit(event="saved", step=step, path=path, mb=round(os.path.getsize(path) / 1e6, 2))


def main():
    torch.manual_seed(2)
    torch.set_num_threads(1)
    os.makedirs(CKPT_DIR, exist_ok=True)
    model = Flow()
    opt = torch.optim.Adam(model.parameters(), lr=5e-4)
    emit(event="start", argv=sys.argv, params=sum(p.numel() for p in model.parameters()), ckpt_dir=CKPT_DIR)
    mix = torch.randn(8, 8)
    ema = None
    for step in range(1, STEPS + 1):
        z = torch.randn(256, 8)
        x = torch.sin(z @ mix) + 0.2 * torch.randn(256, 8)
        loss = model.nll(x)
        opt.zero_grad()
        loss.backward()
        gn = nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        opt.step()
        time.sleep(0.25)
        ema = loss.item() if ema is None else 0.95 * ema + 0.05 * loss.item()
        if step % 5 == 0:
            emit(event="train", step=step, nll=round(loss.item(), 4), nll_ema=round(ema, 4), grad_norm=round(gn.item(), 3))
        if step % SAVE_EVERY == 0:
            save(step, model, opt)
    emit(event="done", step=STEPS)


if __name__ == "__main__":
    main()
