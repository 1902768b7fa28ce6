import argparse
import csv
import os
import time

import torch
from torch import nn

ap = argparse.ArgumentParser()
ap.add_argument("--out", default="run")
ap.add_argument("--iters", type=int, default=600)
args = ap.parse_args()
os.makedirs(args.out, exist_ok=True)
torch.manual_seed(21)
T, Z = 24, 8


def real(n):
    t = torch.linspace(0, 6.28, T)
    return torch.sin(t * (1 + torch.rand(n, 1)) + 6.28 * torch.rand(n, 1)) + 0.05 * torch.randn(n, T)


G = nn.Sequential(nn.Linear(Z, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, T))
D = nn.Sequential(nn.Linear(T, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
og = torch.optim.Adam(G.parameters(), 1e-3, betas=(0.5, 0.99))
od = torch.optim.Adam(D.parameters(), 1e-3, betas=(0.5, 0.99))
bce = nn.BCEWithLogitsLoss()


@torch.no_grad()
def distance():
    a, b = torch.fft.rfft(real(512)).abs().mean(0), torch.fft.rfft(G(torch.randn(512, Z))).abs().mean(0)
    return (a - b).abs().mean().item()


log = open(f"{args.out}/losses.csv", "w", newline="")
rows = csv.writer(log)
rows.writerow(["iter", "d_loss", "g_loss", "d_real", "d_fake", "spectral_distance"])
print(f"writing {args.out}/losses.csv", flush=True)
for it in range(1, args.iters + 1):
    x, fake = real(64), G(torch.randn(64, Z))
    dr, df = D(x), D(fake.detach())
    dl = bce(dr, torch.ones_like(dr)) + bce(df, torch.zeros_like(df))
    od.zero_grad(), dl.backward(), od.step()
    dg = D(fake)
    gl = bce(dg, torch.ones_like(dg))
    og.zero_grad(), gl.backward(), og.step()
    time.sleep(0.07)
    if it % 10 == 0:
        rows.writerow([it, *(f"{v:.4f}" for v in (dl.item(), gl.item(), dr.sigmoid().mean().item(),
                                                 df.sigmoid().mean().item(), distance()))])
        log.flush()
    if it % 100 == 0:
        print(f"iter {it}/{args.iters} D {dl.item():.3f} G {gl.item():.3f} distance {distance():.3f}", flush=True)
        torch.save(G.state_dict(), f"{args.out}/G_{it:05d}.pt")
torch.save(G(torch.randn(256, Z)).detach(), f"{args.out}/samples.pt")
print("done", flush=True)
