import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

PACE = float(os.environ.get("PACE", 0.5))
torch.manual_seed(5)
torch.set_num_threads(1)
Z = 8


def real(n):
    a = torch.randint(0, 8, (n,)) * (2 * torch.pi / 8)
    return torch.stack([a.cos(), a.sin()], 1) + 0.07 * torch.randn(n, 2)


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 96), nn.LeakyReLU(0.2), nn.Linear(96, 96), nn.LeakyReLU(0.2), nn.Linear(96, o))


def swd(a, b):
    d = F.normalize(torch.randn(2, 64), dim=0)
    return ((a @ d).sort(0).values - (b @ d).sort(0).values).abs().mean().item()


G, D, E = mlp(Z, 2), mlp(2, 1), mlp(Z, 2)
E.load_state_dict(G.state_dict())
og, od = torch.optim.Adam(G.parameters(), 6e-4, (0.5, 0.99)), torch.optim.Adam(D.parameters(), 1.2e-3, (0.5, 0.99))
ITER = 340
print("Starting training loop ...", flush=True)
for it in range(1, ITER + 1):
    for _ in range(16):
        x, z = real(128), torch.randn(128, Z)
        fake = G(z)
        dr, df = D(x), D(fake.detach())
        ld = F.softplus(-dr).mean() + F.softplus(df).mean()
        od.zero_grad()
        ld.backward()
        od.step()
        lg = F.softplus(-D(fake)).mean()
        og.zero_grad()
        lg.backward()
        og.step()
        with torch.no_grad():
            for p, q in zip(E.parameters(), G.parameters()):
                p.lerp_(q, 0.01)
    with torch.no_grad():
        s = E(torch.randn(1024, Z))
        w = swd(s, real(1024))
    time.sleep(PACE)
    print(f"[{it}/{ITER}]\tLoss_D: {ld.item():.4f}\tLoss_G: {lg.item():.4f}\tD(x): {dr.sigmoid().mean().item():.4f}\tD(G(z)): {df.sigmoid().mean().item():.4f}\tSWD(ema): {w:.4f}", flush=True)
    if it % 50 == 0:
        torch.save({"G": G.state_dict(), "D": D.state_dict(), "ema": E.state_dict()}, "gan.tmp")
        os.replace("gan.tmp", "gan.pt")
print("done", flush=True)
