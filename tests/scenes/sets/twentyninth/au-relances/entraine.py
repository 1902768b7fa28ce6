"""Entraînement par tranches : reprend le dernier point de sauvegarde, saute les lots déjà vus."""
import os
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

from corpus import text

debut = time.time()
PAUSE = float(os.environ.get("PACE", 0.38))
BUDGET = float(os.environ.get("BUDGET", 58))
FIN, SEQ, LOT = 300, 96, 6
torch.set_num_threads(1)
torch.manual_seed(2)
ids = torch.tensor(list(text(400_000, 3).encode()))


class Lecteur:
    """Lit les lots dans l'ordre d'un générateur ; pour reprendre il faut tout refaire défiler."""

    def __init__(self):
        self.g = torch.Generator().manual_seed(99)

    def suivant(self):
        k = torch.randint(0, len(ids) - SEQ - 1, (LOT,), generator=self.g)
        return torch.stack([ids[j: j + SEQ + 1] for j in k])


class Modele(nn.Module):
    def __init__(self, d=128):
        super().__init__()
        self.e, self.r, self.s = nn.Embedding(256, d), nn.GRU(d, d, 2, batch_first=True), nn.Linear(d, 256)

    def forward(self, x):
        return self.s(self.r(self.e(x))[0])


def sauve(pas):
    torch.save({"m": m.state_dict(), "o": o.state_dict(), "pas": pas}, "point.tmp")
    os.replace("point.tmp", "point.pt")


m, lecteur, pas = Modele(), Lecteur(), 0
o = torch.optim.AdamW(m.parameters(), lr=2.5e-3)
if os.path.exists("point.pt"):
    d = torch.load("point.pt")
    m.load_state_dict(d["m"])
    o.load_state_dict(d["o"])
    pas = d["pas"]
    print(f"reprise au pas {pas}, {pas} lots à sauter", flush=True)
    for i in range(1, pas + 1):
        lecteur.suivant()
        time.sleep(0.03)
        if i % 50 == 0:
            print(f"  lots sautés : {i}/{pas}", flush=True)
while pas < FIN:
    t = time.time()
    w = lecteur.suivant()
    perte = F.cross_entropy(m(w[:, :-1]).flatten(0, 1), w[:, 1:].flatten())
    o.zero_grad()
    perte.backward()
    norme = nn.utils.clip_grad_norm_(m.parameters(), 1.0)
    o.step()
    pas += 1
    time.sleep(PAUSE)
    print(f"{time.strftime('%H:%M:%S')} pas {pas}/{FIN} perte {perte.item():.4f} norme {norme:.3f} durée {time.time() - t:.2f}s", flush=True)
    if pas % 40 == 0:
        sauve(pas)
        print(f"point de sauvegarde au pas {pas}", flush=True)
    if time.time() - debut > BUDGET and pas < FIN:
        sauve(pas)
        print(f"budget de temps épuisé au pas {pas}, sauvegardé, sortie avec le code 85", flush=True)
        sys.exit(85)
sauve(pas)
print("entraînement complet", flush=True)
