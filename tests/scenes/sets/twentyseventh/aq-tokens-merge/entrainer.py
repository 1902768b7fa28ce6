"""Petit modèle de langue sur corpus.bin."""
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(2)
V, T, B = 500, 32, 10
d = np.fromfile("corpus.bin", dtype=np.uint16)
coupe = int(0.97 * len(d))
e, r, o = nn.Embedding(V, 80), nn.LSTM(80, 160, batch_first=True), nn.Linear(160, V)
params = [*e.parameters(), *r.parameters(), *o.parameters()]
opt = torch.optim.AdamW(params, lr=4e-3)


def perte(a, b):
    i = np.random.randint(a, b - T - 1, B)
    x = torch.stack([torch.from_numpy(d[k:k + T + 1].astype("int64")) for k in i])
    return F.cross_entropy(o(r(e(x[:, :-1]))[0]).flatten(0, 1), x[:, 1:].flatten())


for pas in range(1, 281):
    l = perte(0, coupe)
    opt.zero_grad()
    l.backward()
    torch.nn.utils.clip_grad_norm_(params, 1.0)
    opt.step()
    time.sleep(0.28)
    if pas % 2 == 0:
        print(f"[entraînement] pas {pas}/280, perte {l.item():.3f}".replace(".", ","), flush=True)
    if pas % 70 == 0:
        with torch.no_grad():
            v = sum(perte(coupe, len(d)).item() for _ in range(8)) / 8
        torch.save([e.state_dict(), r.state_dict(), o.state_dict()], "modele.pt")
        print(f"[entraînement] perte de validation {v:.3f}, modele.pt enregistré".replace(".", ",", 1), flush=True)
print("[entraînement] terminé", flush=True)
