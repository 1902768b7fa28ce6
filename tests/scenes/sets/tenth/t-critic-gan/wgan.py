import os
os.environ["OMP_NUM_THREADS"] = "1"
import math, sys, time
import torch
from torch import nn
from rich.console import Console
from rich.table import Table

torch.set_num_threads(1)
torch.manual_seed(44)
Z, STEPS, CRITIC = 8, 360, 3
G = nn.Sequential(nn.Linear(Z, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 2))
D = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
og = torch.optim.Adam(G.parameters(), 8e-4, betas=(0.0, 0.9))
od = torch.optim.Adam(D.parameters(), 1.5e-3, betas=(0.0, 0.9))
con = Console(width=96)


def real(n):
    k = torch.randint(0, 8, (n,)) * (2 * math.pi / 8)
    return 4 * torch.stack([k.cos(), k.sin()], 1) + 0.1 * torch.randn(n, 2)


def penalty(a, b):
    m = (torch.rand(len(a), 1) * (a - b) + b).requires_grad_()
    g = torch.autograd.grad(D(m).sum(), m, create_graph=True)[0]
    return ((g.norm(dim=1) - 1) ** 2).mean()


rows = []
for it in range(1, STEPS + 1):
    for _ in range(CRITIC):
        x, f = real(64), G(torch.randn(64, Z)).detach()
        gp = penalty(x, f)
        wass = D(x).mean() - D(f).mean()
        ld = -wass + 3 * gp
        od.zero_grad(); ld.backward(); od.step()
    lg = -D(G(torch.randn(64, Z))).mean()
    og.zero_grad(); lg.backward(); og.step()
    time.sleep(0.1)
    if it % 4 == 0:
        rows.append((it, ld.item(), lg.item(), wass.item(), gp.item()))
    if it % 40 == 0:
        t = Table(title=f"WGAN-GP, iteration {it}")
        for c in ("iter", "loss_D", "loss_G", "W-dist", "gp"):
            t.add_column(c, justify="right")
        for r in rows[-10:]:
            t.add_row(str(r[0]), *(f"{v:+.4f}" for v in r[1:]))
        con.print(t)
        sys.stdout.flush()
        torch.save(G.state_dict(), f"G_{it:05d}.pth")
with torch.no_grad():
    s = G(torch.randn(2000, Z))
    modes = len(set(((torch.atan2(s[:, 1], s[:, 0]) / (2 * math.pi / 8)).round() % 8).int().tolist()))
con.print(f"modes covered: {modes}/8, mean radius {s.norm(dim=1).mean():.2f}")
