"""Liest Messreihen aus Dateien und legt fertige Stapel in die Warteschlange."""
import time
from pathlib import Path

import numpy as np


def anlegen(ordner: Path, dateien: int = 40) -> None:
    ordner.mkdir(exist_ok=True)
    rng = np.random.default_rng(8)
    for k in range(dateien):
        spalten = 7 if k == 22 else 8  # Station 22: altes Gerät
        werte = rng.normal(size=(120, spalten)).cumsum(0) / 10
        np.savetxt(ordner / f"station_{k:03d}.csv", werte, delimiter=";", fmt="%.4f")


def erzeuger(dateien, schlange, stapel=12):
    for datei in dateien:
        werte = np.loadtxt(datei, delimiter=";", dtype="float32")
        fenster = werte.reshape(-1, stapel, 8)
        for f in fenster:
            time.sleep(0.09)
            schlange.put((datei.name, f))
    schlange.put(None)
