"""GAN on points of a ring of eight gaussians; a report every 10 steps with the number of modes met."""
import csv
import math
import time

import torch
from torch import nn

torch.manual_seed(1)
torch.set_num_threads(1)
G = nn.Sequential(nn.Linear(8, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 2))
D = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
og = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.99))
od = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.99))
ang = torch.arange(8) * math.pi / 4
C = torch.stack([ang.cos(), ang.sin()], 1) * 2
bce = nn.functional.binary_cross_entropy_with_logits
best = 0
w = csv.writer(open("gan.csv", "w", buffering=1))
w.writerow(["step", "d_loss", "g_loss", "modes", "near"])
for step in range(1, 401):
    for _ in range(5):
        for _ in range(2):
            x = C[torch.randint(0, 8, (128,))] + 0.09 * torch.randn(128, 2)
            z = G(torch.randn(128, 8)).detach()
            ld = bce(D(x), torch.ones(128, 1)) + bce(D(z), torch.zeros(128, 1))
            od.zero_grad()
            ld.backward()
            od.step()
        lg = bce(D(G(torch.randn(128, 8))), torch.ones(128, 1))
        og.zero_grad()
        lg.backward()
        og.step()
    if step % 10 == 0:
        with torch.no_grad():
            d, k = torch.cdist(G(torch.randn(800, 8)), C).min(1)
        modes = int((torch.bincount(k[d < 0.5], minlength=8) > 12).sum())
        near = (d < 0.5).float().mean().item()
        w.writerow([step, f"{ld.item():.4f}", f"{lg.item():.4f}", modes, f"{near:.3f}"])
        print(f"step {step}/400  D loss {ld.item():.4f}  G loss {lg.item():.4f}  modes {modes}/8  near {near:.3f}", flush=True)
    if step % 80 == 0:
        torch.save({"G": G.state_dict(), "D": D.state_dict()}, "gan_last.pt")
        print("saved gan_last.pt", flush=True)
    time.sleep(0.26)
print("training finished", flush=True)
