"""Domain-adversarial tagger: the encoder learns the tags and to fool the domain critic."""
import json
import math
import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
os.makedirs("ckpt", exist_ok=True)


class Flip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, lam):
        ctx.lam = lam
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return -ctx.lam * g, None


enc = nn.Sequential(nn.Linear(24, 48), nn.ReLU(), nn.Linear(48, 24))
tag = nn.Linear(24, 5)
critic = nn.Sequential(nn.Linear(24, 48), nn.ReLU(), nn.Linear(48, 1))
opt = torch.optim.Adam([*enc.parameters(), *tag.parameters()], 7e-4)
opt_c = torch.optim.Adam(critic.parameters(), 4e-3)
W = torch.randn(24, 5)
shift = 0.7 * torch.randn(24)


def batch(n, domain):
    x = torch.randn(n, 24)
    return x + domain * shift, (x @ W).argmax(1)


log = open("metrics.jsonl", "w", buffering=1)
TOTAL = 360
for step in range(1, TOTAL + 1):
    lam = 2 / (1 + math.exp(-6 * step / TOTAL)) - 1
    xs, ys = batch(32, 0)
    xt, _ = batch(32, 1)
    h = enc(torch.cat([xs, xt]))
    d = critic(Flip.apply(h, lam)).squeeze(1)
    loss_d = F.binary_cross_entropy_with_logits(d, torch.cat([torch.zeros(32), torch.ones(32)]))
    loss_tag = F.cross_entropy(tag(h[:32]), ys)
    opt.zero_grad()
    opt_c.zero_grad()
    (loss_tag + loss_d).backward()
    opt.step()
    opt_c.step()
    row = {"step": step, "loss_enc": round(loss_tag.item() - 3 * lam * loss_d.item(), 4), "loss_tag": round(loss_tag.item(), 4),
           "loss_critic": round(loss_d.item(), 4), "lambda": round(lam, 3)}
    log.write(json.dumps(row) + "\n")
    time.sleep(0.3)
    if step % 10 == 0:
        print(" ".join(f"{k}={v}" for k, v in row.items()), flush=True)
    if step % 60 == 0:
        with torch.no_grad():
            x, y = batch(500, 1)
            acc = (tag(enc(x)).argmax(1) == y).float().mean().item()
        torch.save(enc.state_dict(), f"ckpt/enc{step}.pt")
        print(f"step={step} target_acc={acc:.4f} (critic near 0.69 means the domains cannot be told apart)", flush=True)
print("finished", flush=True)
