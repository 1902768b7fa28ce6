"""Petit modèle de langue, affinage. Messages en français."""
import argparse
import time

import torch
import torch.nn as nn

ap = argparse.ArgumentParser()
ap.add_argument("--name")
ap.add_argument("--lr", type=float)
ap.add_argument("--steps", type=int)
ap.add_argument("--init", default="")
a = ap.parse_args()
torch.manual_seed(0)
torch.set_num_threads(1)
net = nn.Sequential(nn.Embedding(200, 48), nn.Linear(48, 96), nn.GELU(), nn.Linear(96, 200))
if a.init:
    net.load_state_dict(torch.load(a.init))
    print(f"{a.name} : poids repris de {a.init}")
opt = torch.optim.AdamW(net.parameters(), lr=a.lr)
for pas in range(1, a.steps + 1):
    x = torch.randint(0, 200, (8, 1))
    ids = (x + torch.arange(25) * 3) % 200
    perte = nn.functional.cross_entropy(net(ids[:, :-1]).reshape(-1, 200), ids[:, 1:].reshape(-1))
    opt.zero_grad()
    perte.backward()
    opt.step()
    time.sleep(0.3)
    if pas % 10 == 0:
        print(f"{a.name} pas {pas}/{a.steps} perte {perte.item():.4f}")
    if pas % 80 == 0:
        torch.save(net.state_dict(), f"{a.name}.pt")
torch.save(net.state_dict(), f"{a.name}.pt")
print(f"{a.name} : terminé, poids dans {a.name}.pt")
