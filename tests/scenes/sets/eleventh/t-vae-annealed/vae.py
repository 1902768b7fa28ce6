# -*- coding: utf-8 -*-
"""β-VAE sur des images de croissance cristalline ; recuit cyclique de β (Fu et al., 2019)."""
import os
os.environ["OMP_NUM_THREADS"] = "1"
import csv, time
import torch
from torch import nn
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(31)
CYCLE, CYCLES, BETA_MAX = 8, 3, 6.0


def cristaux(n):
    u = torch.linspace(-1, 1, 12)
    yy, xx = torch.meshgrid(u, u, indexing="ij")
    c, r = torch.rand(n, 2) * 1.2 - 0.6, torch.rand(n) * 0.5 + 0.2
    d = (xx - c[:, :1, None]).abs() + (yy - c[:, 1:, None]).abs()
    return (d < r[:, None, None]).float().flatten(1)


X, V = cristaux(640), cristaux(128)
enc = nn.Sequential(nn.Linear(144, 96), nn.ReLU(), nn.Linear(96, 16))
dec = nn.Sequential(nn.Linear(8, 96), nn.ReLU(), nn.Linear(96, 144))
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=2e-3)


def elbo(x, beta):
    mu, lv = enc(x).chunk(2, 1)
    z = mu + torch.randn_like(mu) * (lv / 2).exp()
    rec = F.binary_cross_entropy_with_logits(dec(z), x, reduction="sum") / len(x)
    kl = -0.5 * (1 + lv - mu**2 - lv.exp()).sum() / len(x)
    return rec + beta * kl, rec, kl


print("époque     β      perte    recon.      KL   (valid.)")
journal = csv.writer(open("journal.csv", "w", buffering=1))
journal.writerow("epoque beta perte recon kl perte_valid".split())
for ep in range(CYCLE * CYCLES):
    beta = BETA_MAX * min(1.0, (ep % CYCLE) / (CYCLE * 0.6))
    s = torch.zeros(3)
    for i, idx in enumerate(torch.randperm(len(X)).split(32)):
        perte, rec, kl = elbo(X[idx], beta)
        opt.zero_grad(); perte.backward(); opt.step()
        s += torch.stack([perte, rec, kl]).detach()
        time.sleep(0.09)
    s /= i + 1
    with torch.no_grad():
        v = elbo(V, beta)[0].item()
    print(f"{ep:4d}   {beta:6.3f}  {s[0]:8.3f}  {s[1]:8.3f} {s[2]:8.3f}   {v:8.3f}", flush=True)
    journal.writerow([ep, f"{beta:.3f}", *[f"{q:.4f}" for q in s.tolist()], f"{v:.4f}"])
    if ep % CYCLE == CYCLE - 1:
        torch.save({"enc": enc.state_dict(), "dec": dec.state_dict()}, f"vae_cycle{ep // CYCLE + 1}.pt")
        print(f"fin du cycle {ep // CYCLE + 1}, modèle enregistré", flush=True)
print("terminé")
