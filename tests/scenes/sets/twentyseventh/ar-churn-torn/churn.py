"""Kündigungsvorhersage: Einbettungen und ein kleines Netz über Kundendaten."""
import io
import os
import time

import numpy as np
import torch
import torch.nn as nn

PACE = float(os.environ.get("PACE", 0.4))
STAND = "stand.pt"
torch.manual_seed(0)
torch.set_num_threads(1)
open("pid", "w").write(str(os.getpid()))


def sage(text):
    print(f"[{time.strftime('%d.%m.%Y %H:%M:%S')}] {text}", flush=True)


r = np.random.default_rng(6)
N = 6000
tarif, region = r.integers(0, 400, N), r.integers(0, 900, N)
zahl = r.normal(size=(N, 8)).astype("float32")
et, er = r.normal(size=400), r.normal(size=900)
logit = et[tarif] + 0.7 * er[region] + zahl[:, 0] - zahl[:, 1]
ziel = torch.tensor((r.random(N) < 1 / (1 + np.exp(-1.5 * logit))).astype("float32"))
tarif, region, zahl = torch.tensor(tarif), torch.tensor(region), torch.tensor(zahl)


class Netz(nn.Module):
    def __init__(self):
        super().__init__()
        self.t, self.r = nn.Embedding(400, 96), nn.Embedding(900, 96)
        self.f = nn.Sequential(nn.Linear(200, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, t, r, z):
        return self.f(torch.cat([self.t(t), self.r(r), z], 1)).squeeze(1)


def speichere(zustand):
    """In Stücken: das Netzlaufwerk verträgt keine großen Schreibvorgänge."""
    puffer = io.BytesIO()
    torch.save(zustand, puffer)
    daten = puffer.getvalue()
    stueck = len(daten) // 12 + 1
    with open(STAND, "wb") as f:
        for i in range(0, len(daten), stueck):
            f.write(daten[i:i + stueck])
            f.flush()
            os.fsync(f.fileno())
            time.sleep(0.12)


netz = Netz()
opt = torch.optim.Adam(netz.parameters(), 2e-3)
anfang = 1
if os.path.exists(STAND):
    zustand = torch.load(STAND)
    netz.load_state_dict(zustand["netz"])
    opt.load_state_dict(zustand["opt"])
    anfang = zustand["schritt"] + 1
    sage(f"weiter ab Schritt {anfang}")
for schritt in range(anfang, 1201):
    i = torch.randint(0, 5000, (256,))
    verlust = nn.functional.binary_cross_entropy_with_logits(netz(tarif[i], region[i], zahl[i]), ziel[i])
    opt.zero_grad()
    verlust.backward()
    opt.step()
    time.sleep(PACE)
    sage(f"Schritt {schritt:4d}/1200  Verlust {verlust.item():.4f}")
    if schritt % 40 == 0:
        with torch.no_grad():
            v = nn.functional.binary_cross_entropy_with_logits(netz(tarif[5000:], region[5000:], zahl[5000:]), ziel[5000:])
        sage(f"Prüfverlust {v.item():.4f}, sichere den Stand von Schritt {schritt}")
        speichere({"netz": netz.state_dict(), "opt": opt.state_dict(), "schritt": schritt})
        sage("gesichert")
