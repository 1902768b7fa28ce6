"""Emulator für das Energiebilanzmodell: sagt die Temperatur der nächsten Dekade aus dem Antrieb voraus."""
import json
import logging
import time

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import serialization

logging.basicConfig(level=logging.INFO, format="%(asctime)s [%(levelname)s] %(message)s", datefmt="%d.%m.%Y %H:%M:%S")
log = logging.getLogger("emulator")


class Emulator(nn.Module):
    breite: int

    @nn.compact
    def __call__(self, x):
        for _ in range(2):
            x = nn.gelu(nn.Dense(self.breite)(x))
        return nn.Dense(4)(x)


def daten(rng, n):
    antrieb = rng.normal(size=(n, 6)).astype(np.float32)
    a, b = antrieb[:, :3], antrieb[:, 3:]
    ziel = np.stack([np.tanh(a.sum(1)), a[:, 0] * b[:, 0] * 0.5, np.sin(b.sum(1)), 0.3 * (a * b).sum(1)], 1)
    return antrieb, ziel.astype(np.float32) + 0.02 * rng.normal(size=ziel.shape).astype(np.float32)


def main():
    k = json.load(open("konfig.json"))
    plan = optax.sgdr_schedule([
        dict(init_value=z["spitze"] / 10, peak_value=z["spitze"], warmup_steps=36, decay_steps=z["schritte"], end_value=z["spitze"] / 20)
        for z in k["zyklen"]
    ])
    modell, rng = Emulator(k["breite"]), np.random.default_rng(1)
    p = modell.init(jax.random.PRNGKey(0), jnp.zeros((1, 6)))
    opt = optax.adam(plan)
    zustand = opt.init(p)

    def verlust(p, x, y):
        return jnp.mean((modell.apply(p, x) - y) ** 2)

    @jax.jit
    def schritt(p, s, x, y):
        v, g = jax.value_and_grad(verlust)(p, x, y)
        u, s = opt.update(g, s, p)
        return optax.apply_updates(p, u), s, v

    log.info("Lauf %s: %d Epochen, Geräte: %s", k["lauf"], k["epochen"], jax.devices())
    pruef, n = daten(rng, 512), 0
    for epoche in range(1, k["epochen"] + 1):
        anfang, summe = time.time(), 0.0
        for _ in range(k["schritte"]):
            p, zustand, v = schritt(p, zustand, *daten(rng, k["batch"]))
            summe += float(v)
            n += 1
            time.sleep(0.06)
        log.info("Epoche %d von %d: Verlust %.5f, Prüfverlust %.5f, Lernrate %.5f, Dauer %.1f s", epoche, k["epochen"],
                 summe / k["schritte"], float(verlust(p, *pruef)), float(plan(n)), time.time() - anfang)
        if epoche % 10 == 0:
            open("gewichte.msgpack", "wb").write(serialization.to_bytes(p))
            log.info("Gewichte gespeichert (gewichte.msgpack)")
    log.info("Training beendet")


if __name__ == "__main__":
    main()
