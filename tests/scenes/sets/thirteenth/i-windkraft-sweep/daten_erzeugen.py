"""Erzeugt die Messreihen der drei Anlagen (einmalig)."""
import sys
from pathlib import Path

import numpy as np

ziel = Path(sys.argv[1])
ziel.mkdir(parents=True, exist_ok=True)
rng = np.random.default_rng(5)
for anlage in ("nord", "sued", "west"):
    wind = 8 + 3 * rng.weibull(2, 1500)
    richtung = rng.uniform(0, 2 * np.pi, 1500)
    leistung = np.clip((wind / 12) ** 3, 0, 1) * (1 + 0.1 * np.cos(richtung)) + 0.02 * rng.normal(size=1500)
    np.savez(ziel / f"{anlage}.npz", x=np.stack([wind / 10, np.sin(richtung), np.cos(richtung)], 1), y=leistung)
