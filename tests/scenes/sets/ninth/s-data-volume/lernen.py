import argparse
import os
import time

import torch
from torch import nn

p = argparse.ArgumentParser()
p.add_argument("--ziel")
p.add_argument("--epochen", type=int)
a = p.parse_args()
os.makedirs(a.ziel, exist_ok=True)
torch.manual_seed(3)
netz = nn.Sequential(nn.Linear(20, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 3))
opt = torch.optim.RMSprop(netz.parameters(), lr=5e-4)
w = torch.randn(20, 3)


def stapel(n=48):
    x = torch.randn(n, 20)
    return x, (x @ w + 0.5 * torch.randn(n, 3)).argmax(1)


def sichern(epoche):
    ziel = os.path.join(a.ziel, f"stand_{epoche:03d}.pt")
    try:
        with open(ziel + ".tmp", "wb") as f:
            torch.save({"netz": netz.state_dict(), "opt": opt.state_dict(), "epoche": epoche}, f)
        os.replace(ziel + ".tmp", ziel)
        print(f"Stand gesichert: {ziel}")
    except OSError as fehler:
        print(f"WARNUNG: Stand {epoche} konnte nicht gesichert werden: {fehler}")


for epoche in range(1, a.epochen + 1):
    summe = 0.0
    print(f"Epoche {epoche} beginnt")
    for i in range(1, 19):
        x, y = stapel()
        verlust = nn.functional.cross_entropy(netz(x), y)
        opt.zero_grad()
        verlust.backward()
        opt.step()
        summe += verlust.item()
        time.sleep(0.28)
        if i % 6 == 0:
            print(f"  Schritt {i}/18  Verlust {summe / i:.4f}")
    sichern(epoche)
print("Training beendet")
