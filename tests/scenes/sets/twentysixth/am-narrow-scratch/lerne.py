"""Wort-Modell. Der Scratch ist knapp: höchstens drei Stände liegen dort, der älteste geht vor dem Schreiben weg."""
import os
import sys
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(3)
V, L, B, SCHRITTE, ORT = 2000, 16, 8, 560, "scratch"


def sag(was):
    print(time.strftime("%d.%m.%Y %H:%M:%S"), was, flush=True)


# vorbereitete Wörter auf dem Scratch
if not os.path.exists(f"{ORT}/woerter.npy"):
    rng = np.random.default_rng(5)
    tafel = rng.integers(0, V, (V, 3))
    t, out = 0, np.empty(2_200_000, dtype=np.int32)
    wahl = rng.integers(0, 3, len(out))
    for i in range(len(out)):
        t = tafel[t, wahl[i]] if i % 50 else rng.integers(V)
        out[i] = t
    np.save(f"{ORT}/woerter.npy", out)
d = np.load(f"{ORT}/woerter.npy", mmap_mode="r")
netz = nn.ModuleDict({"e": nn.Embedding(V, 128), "r": nn.GRU(128, 128, batch_first=True), "o": nn.Linear(128, V)})
opt = torch.optim.Adam(netz.parameters(), lr=3e-3)


def sichern(s):
    alte = sorted(f for f in os.listdir(ORT) if f.startswith("stand-"))
    for f in alte[: max(0, len(alte) - 2)]:
        os.remove(f"{ORT}/{f}")
        sag(f"alter Stand {f} entfernt")
    torch.save({"netz": netz.state_dict(), "opt": opt.state_dict(), "schritt": s}, f"{ORT}/stand-{s:05d}.pt")
    v = os.statvfs(ORT)
    sag(f"Stand {s} gesichert, Scratch zu {100 * (1 - v.f_bavail / v.f_blocks):.0f} % belegt (so vorgesehen, höchstens drei Stände)")


for s in range(1, SCHRITTE + 1):
    i = np.random.randint(0, len(d) - L - 1, B)
    x = torch.tensor(np.stack([d[k:k + L + 1] for k in i]).astype("int64"))
    verlust = F.cross_entropy(netz["o"](netz["r"](netz["e"](x[:, :-1]))[0]).flatten(0, 1), x[:, 1:].flatten())
    opt.zero_grad()
    verlust.backward()
    opt.step()
    time.sleep(0.2)
    if s % 10 == 0:
        sag(f"Schritt {s}/{SCHRITTE} Verlust {verlust.item():.4f}")
    if s % 50 == 0:
        sichern(s)
sag("fertig")
