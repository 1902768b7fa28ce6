"""Continued pretraining: first the general text, then the laboratory protocols. Rich console, checkpoint per phase."""
import math
import os
import pathlib
import random
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from einops import rearrange
from rich.console import Console

con = Console(width=120, force_terminal=False, log_path=False, file=open("adapt.log", "w", buffering=1))
torch.set_num_threads(1)
torch.manual_seed(9)
random.seed(9)
PACE = float(os.environ.get("PACE", "0.33"))
T, D = 64, 96
root = pathlib.Path(os.__file__).parent
general = b"\n".join(p.read_bytes() for p in sorted(root.glob("[s-z]*.py")))
acid = ["NaCl", "KOH", "H2SO4", "EDTA", "Tris", "MgCl2", "DTT"]
lab = "\n".join(
    random.choice(["%d ml %s (%d mM) -> tube %d; vortex %d s", "SPIN %dg x %s / keep PELLET %d.%d; discard %d", "t=%d: add %s %d uL, OD600=%d.%d"])
    % (random.randint(1, 900), random.choice(acid), random.randint(1, 500), random.randint(1, 24), random.randint(1, 90)) for _ in range(9000)).encode()


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2, self.qkv, self.o = nn.LayerNorm(D), nn.LayerNorm(D), nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.ff = nn.Sequential(nn.Linear(D, 3 * D), nn.GELU(), nn.Linear(3 * D, D))

    def forward(self, x):
        q, k, v = rearrange(self.qkv(self.n1(x)), "b t (c h d) -> c b h t d", c=3, h=4)
        x = x + self.o(rearrange(F.scaled_dot_product_attention(q, k, v, is_causal=True), "b h t d -> b t (h d)"))
        return x + self.ff(self.n2(x))


emb, pos = nn.Embedding(256, D), nn.Parameter(torch.randn(T, D) * 0.02)
body, head = nn.Sequential(Block(), Block(), nn.LayerNorm(D)), nn.Linear(D, 256)
params = [*emb.parameters(), pos, *body.parameters(), *head.parameters()]
opt = torch.optim.AdamW(params, 2e-3, betas=(0.9, 0.98))


def loss_on(src, n):
    i = torch.randint(len(src) - T - 1, (n,))
    s = torch.stack([src[j:j + T + 1] for j in i]).long()
    return F.cross_entropy(head(body(emb(s[:, :-1]) + pos)).flatten(0, 1), s[:, 1:].flatten())


def tensor(b):
    return torch.frombuffer(bytearray(b), dtype=torch.uint8)


step = 0
for name, text, steps, lr in [("general", general, 230, 2e-3), ("protocols", lab, 230, 1e-3)]:
    src = tensor(text)
    train, val = src[:-20000], src[-20000:]
    con.log(f"[bold]phase {name}[/]: {len(train)} bytes, {steps} steps, lr {lr:g}")
    for k in range(1, steps + 1):
        for g in opt.param_groups:
            g["lr"] = lr * min(1, k / 25) * (0.55 + 0.45 * math.cos(math.pi * k / steps))
        loss = loss_on(train, 8)
        opt.zero_grad()
        loss.backward()
        gn = nn.utils.clip_grad_norm_(params, 1.0)
        opt.step()
        step += 1
        time.sleep(PACE)
        if step % 2 == 0:
            con.log(f"step {step:4d}  loss {loss.item():.3f}  ppl {math.exp(loss.item()):8.2f}  grad {gn:.2f}")
    with torch.no_grad():
        con.log(f"phase {name} done, validation loss {loss_on(val, 64).item():.4f}")
    torch.save({"emb": emb.state_dict(), "body": body.state_dict(), "head": head.state_dict()}, f"{name}.pt")
con.log("all phases done")
