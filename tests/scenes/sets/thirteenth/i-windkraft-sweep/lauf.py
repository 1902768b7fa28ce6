"""Leistungsprognose für Windkraftanlagen, ein Lauf der Parameterstudie."""
import argparse
import csv
import logging
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn

logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s: %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger("windkraft")
log.setLevel(logging.INFO)

arg = argparse.ArgumentParser()
arg.add_argument("--daten", type=Path)
arg.add_argument("--tiefe", type=int)
arg.add_argument("--lernrate", type=float)
arg.add_argument("--epochen", type=int)
arg = arg.parse_args()


class Netz(nn.Module):
    tiefe: int

    @nn.compact
    def __call__(self, x):
        for _ in range(self.tiefe):
            x = nn.silu(nn.Dense(32)(x))
        return nn.Dense(1)(x)[:, 0]


def laden():
    teile = [np.load(arg.daten / f"{a}.npz") for a in ("nord", "sued", "west")]
    x, y = np.concatenate([t["x"] for t in teile]), np.concatenate([t["y"] for t in teile])
    ordnung = np.random.default_rng(0).permutation(len(x))
    return jnp.asarray(x[ordnung]), jnp.asarray(y[ordnung])


x, y = laden()
log.info("%d Messwerte geladen", len(x))
netz = Netz(arg.tiefe)
gewichte = netz.init(jax.random.PRNGKey(1), x[:1])
verfahren = optax.adam(arg.lernrate)
zustand = verfahren.init(gewichte)


@jax.jit
def fehler(g, a, b):
    return jnp.mean((netz.apply(g, a) - b) ** 2)


@jax.jit
def schritt(g, z, a, b):
    wert, ableitung = jax.value_and_grad(fehler)(g, a, b)
    aenderung, z = verfahren.update(ableitung, z)
    return optax.apply_updates(g, aenderung), z, wert


for epoche in range(1, arg.epochen + 1):
    werte = []
    for i in range(0, 4000, 400):
        gewichte, zustand, wert = schritt(gewichte, zustand, x[i:i + 400], y[i:i + 400])
        werte.append(float(wert))
        time.sleep(0.07)
    pruef = float(fehler(gewichte, x[4000:], y[4000:]))
    log.info("Epoche %2d/%d  Fehler %.5f  Prüffehler %.5f", epoche, arg.epochen, np.mean(werte), pruef)
with open("ergebnisse.csv", "a", newline="") as datei:
    csv.writer(datei, delimiter=";").writerow([arg.tiefe, arg.lernrate, f"{pruef:.6f}"])
