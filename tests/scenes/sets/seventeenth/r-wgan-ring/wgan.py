"""WGAN with gradient penalty on eight Gaussians, after the usual tutorial."""
import math
import time

import torch
import torch.nn as nn
from torch.utils.tensorboard import SummaryWriter

torch.set_num_threads(1)
torch.manual_seed(2)


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, o))


def real(n):
    k = torch.randint(0, 8, (n,)).float() * math.pi / 4
    return 2 * torch.stack([k.cos(), k.sin()], 1) + 0.05 * torch.randn(n, 2)


def penalty(D, x, g):
    u = torch.rand(len(x), 1)
    z = (u * x + (1 - u) * g).requires_grad_()
    (gr,) = torch.autograd.grad(D(z).sum(), z, create_graph=True)
    return 2 * ((gr.norm(2, 1) - 1) ** 2).mean()


G, D = mlp(4, 2), mlp(2, 1)
og = torch.optim.Adam(G.parameters(), 2e-4, betas=(0.0, 0.9))
od = torch.optim.Adam(D.parameters(), 1e-3, betas=(0.0, 0.9))
tb = SummaryWriter("tb")
for i in range(1, 501):
    for _ in range(5):
        x, g = real(64), G(torch.randn(64, 4)).detach()
        w = D(x).mean() - D(g).mean()
        ld = -w + penalty(D, x, g)
        od.zero_grad()
        ld.backward()
        od.step()
    lg = -D(G(torch.randn(64, 4))).mean()
    og.zero_grad()
    lg.backward()
    og.step()
    time.sleep(0.12)
    tb.add_scalar("loss/D", ld.item(), i)
    tb.add_scalar("loss/G", lg.item(), i)
    if i % 10 == 0:
        print(f"[{i:4d}/500] loss_D: {ld.item():+.4f} loss_G: {lg.item():+.4f} W: {w.item():.4f}", flush=True)
    if i % 100 == 0:
        torch.save({"G": G.state_dict(), "D": D.state_dict()}, f"wgan_{i}.pt")
tb.close()
print("finished")
