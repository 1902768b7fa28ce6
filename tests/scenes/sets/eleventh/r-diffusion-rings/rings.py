import json
import logging
import pathlib
import time

import torch
from torch import nn

KEEP, EVERY, STEPS, T = 3, 25, 420, 50
ROOT = pathlib.Path("scratch")


class JsonLines(logging.Formatter):
    def format(self, record):
        d = {"ts": round(record.created, 2), "lvl": record.levelname, "msg": record.getMessage()}
        return json.dumps(d | getattr(record, "data", {}))


handler = logging.StreamHandler()
handler.setFormatter(JsonLines())
log = logging.getLogger("rings")
log.addHandler(handler)
log.setLevel(logging.INFO)

beta = torch.linspace(1e-3, 0.1, T)
abar = torch.cumprod(1 - beta, 0)
net = nn.Sequential(nn.Linear(3, 400), nn.SiLU(), nn.Linear(400, 400), nn.SiLU(), nn.Linear(400, 2))
opt = torch.optim.AdamW(net.parameters(), 1e-3)


def rings(n):
    r = torch.where(torch.rand(n) < 0.5, 1.0, 2.0) + 0.05 * torch.randn(n)
    a = torch.rand(n) * 6.2832
    return torch.stack([r * a.cos(), r * a.sin()], 1)


@torch.no_grad()
def sample(n):
    x = torch.randn(n, 2)
    for t in reversed(range(T)):
        eps = net(torch.cat([x, torch.full((n, 1), t / T)], 1))
        x = (x - beta[t] / (1 - abar[t]).sqrt() * eps) / (1 - beta[t]).sqrt()
        if t:
            x += beta[t].sqrt() * torch.randn(n, 2)
    return x


def checkpoint(step):
    path = ROOT / f"step{step:05d}.pt"
    torch.save({"step": step, "net": net.state_dict(), "opt": opt.state_dict()}, path)
    old = sorted(ROOT.glob("step*.pt"))[:-KEEP]
    for p in old:
        p.unlink()
    log.info("checkpoint", extra={"data": {"path": str(path), "removed": [p.name for p in old]}})


torch.manual_seed(9)
log.info("start", extra={"data": {"params": sum(p.numel() for p in net.parameters()), "steps": STEPS}})
for step in range(1, STEPS + 1):
    x0, t = rings(128), torch.randint(0, T, (128,))
    noise, a = torch.randn(128, 2), abar[t].unsqueeze(1)
    pred = net(torch.cat([a.sqrt() * x0 + (1 - a).sqrt() * noise, t.unsqueeze(1) / T], 1))
    loss = (pred - noise).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.1)
    if step % 10 == 0:
        log.info("train", extra={"data": {"step": step, "loss": round(loss.item(), 5)}})
    if step % EVERY == 0:
        checkpoint(step)
    if step % 100 == 0:
        r = sample(256).norm(dim=1)
        log.info("sample", extra={"data": {"r_mean": round(r.mean().item(), 3), "r_std": round(r.std().item(), 3)}})
log.info("end", extra={"data": {"step": STEPS}})
