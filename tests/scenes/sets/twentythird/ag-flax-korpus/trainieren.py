"""Übersetzungsmodell in Flax; Stapel werden vor Gebrauch auf richtige Zuordnung geprüft."""
import datetime
import os
import time

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import serialization

STAPEL, LAENGE = 8, 6


class KorpusFehler(Exception):
    """Der Korpus passt nicht zu den Annahmen des Trainings."""


def sag(text):
    print(f"{datetime.datetime.now():%d.%m.%Y %H:%M:%S}  {text}", flush=True)


zeilen = [z.rstrip("\n").split("\t") for z in open("korpus.tsv", encoding="utf-8")]
quelle = [q.split() for q, _ in zeilen]
ziel = [z.split() for _, z in zeilen]
woerter = {w: i + 1 for i, w in enumerate(sorted({w for s in quelle + ziel for w in s}))}


def stapel(n):
    von = n * STAPEL
    x = np.zeros((STAPEL, LAENGE), "int32")
    y = np.zeros((STAPEL, LAENGE), "int32")
    schief = 0
    for j in range(STAPEL):
        q, z = quelle[von + j], ziel[von + j]
        schief += len(q) != len(z)
        x[j, :len(q)] = [woerter[w] for w in q]
        y[j, :len(z)] = [woerter[w] for w in z]
    if schief > STAPEL // 3:
        raise KorpusFehler(
            f"Zeilen {von + 1} bis {von + STAPEL}: {schief} von {STAPEL} Satzpaaren passen in der Länge nicht "
            "zusammen, Quell- und Zielteil sind vermutlich gegeneinander verschoben")
    return x, y


class Modell(nn.Module):
    @nn.compact
    def __call__(self, x):
        h = nn.Embed(len(woerter) + 1, 32)(x)
        h = h + nn.Dense(32)(nn.relu(nn.Dense(64)(h)))
        return nn.Dense(len(woerter) + 1)(h)


modell = Modell()
gewichte = modell.init(jax.random.PRNGKey(0), jnp.zeros((1, LAENGE), "int32"))
opt = optax.adamw(2e-3)
zustand = opt.init(gewichte)


@jax.jit
def schritt(g, z, x, y):
    def verlust(g):
        return optax.softmax_cross_entropy_with_integer_labels(modell.apply(g, x), y).mean()
    v, grad = jax.value_and_grad(verlust)(g)
    d, z = opt.update(grad, z, g)
    return optax.apply_updates(g, d), z, v


os.makedirs("stand", exist_ok=True)
anzahl = len(zeilen) // STAPEL
sag(f"{len(zeilen)} Satzpaare, {len(woerter)} Wörter, {anzahl} Schritte")
for n in range(anzahl):
    x, y = stapel(n)
    gewichte, zustand, v = schritt(gewichte, zustand, x, y)
    time.sleep(0.32)
    if (n + 1) % 10 == 0:
        sag(f"Schritt {n + 1}/{anzahl}  Verlust {float(v):.4f}")
    if (n + 1) % 50 == 0:
        with open(f"stand/stand-{n + 1}.msgpack", "wb") as f:
            f.write(serialization.to_bytes(gewichte))
        sag(f"Zwischenstand stand/stand-{n + 1}.msgpack gesichert")
sag("fertig")
