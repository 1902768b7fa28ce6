import argparse
import csv
import os
import time

import torch
from torch import autograd, nn

ap = argparse.ArgumentParser()
ap.add_argument("--iters", type=int, default=320)
ap.add_argument("--critic", type=int, default=3)
ap.add_argument("--gp", type=float, default=5.0)
ap.add_argument("--dir", default="runs/moons")
o = ap.parse_args()
os.makedirs(o.dir, exist_ok=True)
torch.manual_seed(21)


def mlp(i, j):
    return nn.Sequential(nn.Linear(i, 48), nn.LeakyReLU(0.1), nn.Linear(48, 48), nn.LeakyReLU(0.1), nn.Linear(48, j))


def moons(n):
    a = torch.rand(n) * 3.1416
    up = torch.rand(n) < 0.5
    x = torch.where(up, a.cos(), 1 - a.cos())
    y = torch.where(up, a.sin(), 0.5 - a.sin())
    return 4 * torch.stack([x, y], 1) + 0.15 * torch.randn(n, 2)


def penalty(critic, real, fake):
    mix = torch.rand(len(real), 1)
    x = (mix * real + (1 - mix) * fake).requires_grad_()
    g, = autograd.grad(critic(x).sum(), x, create_graph=True)
    return ((g.norm(dim=1) - 1) ** 2).mean()


gen, critic = mlp(4, 2), mlp(2, 1)
og = torch.optim.Adam(gen.parameters(), 4e-3, betas=(0.0, 0.9))
oc = torch.optim.Adam(critic.parameters(), 4e-3, betas=(0.0, 0.9))
table = csv.writer(open(f"{o.dir}/losses.csv", "w", buffering=1))
table.writerow(["iter", "critic", "generator", "w_dist"])
for it in range(1, o.iters + 1):
    for _ in range(o.critic):
        real, fake = moons(64), gen(torch.randn(64, 4)).detach()
        dist = critic(real).mean() - critic(fake).mean()
        lc = -dist + o.gp * penalty(critic, real, fake)
        oc.zero_grad()
        lc.backward()
        oc.step()
    lg = -critic(gen(torch.randn(64, 4))).mean()
    og.zero_grad()
    lg.backward()
    og.step()
    time.sleep(0.12)
    table.writerow([it, f"{lc.item():.4f}", f"{lg.item():.4f}", f"{dist.item():.4f}"])
    if it % 4 == 0:
        print(f"[{it}/{o.iters}] [C loss: {lc.item():+.4f}] [G loss: {lg.item():+.4f}] [W: {dist.item():.4f}]", flush=True)
    if it % 80 == 0:
        torch.save({"gen": gen.state_dict(), "critic": critic.state_dict()}, f"{o.dir}/{it}.pt")
print("samples:", [[round(v, 2) for v in p] for p in gen(torch.randn(3, 4)).tolist()])
