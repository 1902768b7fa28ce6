"""Erzeugt die Merkmalsdateien (Log-Energien von Kommandowörtern), 40 Äußerungen je Datei."""
import pathlib

import numpy as np

aus = pathlib.Path("shards")
aus.mkdir(exist_ok=True)
r = np.random.default_rng(3)
muster = r.normal(size=(12, 20, 6))
for i in range(60):
    x, y = [], []
    for j in range(40):
        k = int(r.integers(12))
        t = np.linspace(0, 1, 60)
        grund = np.array([[np.sin(2 * np.pi * (f + 1) * t + p) for p in muster[k, b]] for b in range(20) for f in [k % 4]]).mean(1)
        x.append((grund.T * 2 + r.normal(size=(60, 20)) * 0.6 - 4).astype(np.float32))
        y.append(k)
    if i >= 13:                     # aus dem neuen Studio: dort war bei einer Aufnahme das Mikrofon stumm
        x[i % 40][:] = -13.815511
    np.savez(aus / f"shard_{i:03d}.npz", x=np.stack(x), y=np.array(y))
