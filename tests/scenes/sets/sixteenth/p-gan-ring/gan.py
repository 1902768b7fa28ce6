import csv
import math
import time

import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter

torch.set_num_threads(1)
torch.manual_seed(8)


def ring(n):
    k = torch.randint(0, 8, (n,)) * (2 * math.pi / 8)
    return torch.stack([k.cos(), k.sin()], 1) * 2 + 0.1 * torch.randn(n, 2)


G = nn.Sequential(nn.Linear(8, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 2))
D = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
og = torch.optim.Adam(G.parameters(), 1e-3, betas=(0.5, 0.99))
od = torch.optim.Adam(D.parameters(), 2e-3, betas=(0.5, 0.99))
bce = nn.functional.binary_cross_entropy_with_logits
tb = SummaryWriter("tb")
rows = csv.writer(open("gan.csv", "w", buffering=1))
rows.writerow(["iter", "loss_D", "loss_G", "D(x)", "D(G(z))", "modes"])
for it in range(1, 261):
    for _ in range(10):
        x, z = ring(128), torch.randn(128, 8)
        r, f = D(x), D(G(z).detach())
        ld = bce(r, torch.ones_like(r)) + bce(f, torch.zeros_like(f))
        od.zero_grad(); ld.backward(); od.step()
        s = D(G(torch.randn(128, 8)))
        lg = bce(s, torch.ones_like(s))
        og.zero_grad(); lg.backward(); og.step()
    time.sleep(0.22)
    if it % 5 == 0:
        with torch.no_grad():
            y = G(torch.randn(256, 8))
            near = torch.cdist(y, torch.stack([torch.tensor([2 * math.cos(k * math.pi / 4), 2 * math.sin(k * math.pi / 4)]) for k in range(8)]))
            modes = int((near.amin(0) < 0.4).sum())
        print(f"[{it:4d}/260] Loss_D: {ld.item():.4f}  Loss_G: {lg.item():.4f}  D(x): {r.sigmoid().mean():.3f}  D(G(z)): {f.sigmoid().mean():.3f}  modes {modes}/8", flush=True)
        rows.writerow([it, ld.item(), lg.item(), r.sigmoid().mean().item(), f.sigmoid().mean().item(), modes])
        tb.add_scalars("loss", {"D": ld.item(), "G": lg.item()}, it)
    if it % 65 == 0:
        torch.save({"G": G.state_dict(), "D": D.state_dict()}, f"gan_{it}.pt")
print("done, last generator in gan_260.pt")
