"""PINN für die stationäre Wärmeleitung: die Randbedingungen werden in Stufen schärfer gewichtet."""
import csv
import os
import time

import torch
import torch.nn as nn

torch.manual_seed(0)
torch.set_num_threads(1)
netz = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
STUFEN = [(1, 150, 1.0), (2, 150, 100.0), (3, 150, 3000.0)]
os.makedirs("netze", exist_ok=True)
verlauf = csv.writer(open("verlauf.csv", "w", newline="", buffering=1))
verlauf.writerow(["schritt", "stufe", "verlust", "residuum", "rand"])


def verluste():
    p = torch.rand(128, 2, requires_grad=True)
    u = netz(p)
    g = torch.autograd.grad(u.sum(), p, create_graph=True)[0]
    lap = sum(torch.autograd.grad(g[:, k].sum(), p, create_graph=True)[0][:, k] for k in (0, 1))
    quelle = 10 * torch.exp(-((p - 0.5) ** 2).sum(1) * 20)
    s = torch.rand(64, 1)
    seiten = torch.cat([torch.cat([s, 0 * s], 1), torch.cat([s, 0 * s + 1], 1), torch.cat([0 * s, s], 1), torch.cat([0 * s + 1, s], 1)])
    return (lap + quelle).pow(2).mean(), (netz(seiten) - seiten[:, :1]).pow(2).mean()


schritt = 0
for stufe, anzahl, w in STUFEN:
    print(f"Stufe {stufe}: Randgewicht {w:g}" + ("; der Gesamtverlust springt dabei nach oben" if stufe > 1 else ""), flush=True)
    opt = torch.optim.Adam(netz.parameters(), 3e-3)
    for _ in range(anzahl):
        res, rand = verluste()
        verlust = res + w * rand
        opt.zero_grad()
        verlust.backward()
        opt.step()
        schritt += 1
        time.sleep(0.24)
        if schritt % 5 == 0:
            verlauf.writerow([schritt, stufe, f"{verlust.item():.6f}", f"{res.item():.6f}", f"{rand.item():.8f}"])
            print(f"Schritt {schritt:4d}  Verlust {verlust.item():10.5f}  Residuum {res.item():.5f}  Rand {rand.item():.6f}", flush=True)
    torch.save(netz.state_dict(), f"netze/stufe{stufe}.pt")
    print(f"Stufe {stufe} fertig, gespeichert: netze/stufe{stufe}.pt", flush=True)
print("Training beendet", flush=True)
