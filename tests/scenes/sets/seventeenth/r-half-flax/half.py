# Halbe Genauigkeit von Hand: dynamische Skalierung des Verlusts in JAX/Flax
import logging
import time

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import serialization

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname).1s %(message)s", datefmt="%H:%M:%S")
SCHRITTE = 520


class Netz(nn.Module):
    @nn.compact
    def __call__(self, x):
        for _ in range(2):
            x = nn.relu(nn.Dense(48, dtype=jnp.float16)(x))
        return nn.Dense(1, dtype=jnp.float16)(x)[:, 0]


def daten(rng, n=96):
    x = rng.normal(size=(n, 10)).astype(np.float32)
    return x.astype(np.float16), (np.sin(x[:, 0]) * 3 + x[:, 1]).astype(np.float16)


def main():
    rng = np.random.default_rng(0)
    netz = Netz()
    p = netz.init(jax.random.PRNGKey(0), daten(rng)[0])
    tx = optax.adam(2e-3)
    zustand = tx.init(p)

    @jax.jit
    def gradient(p, x, y, skala):
        def f(p):
            loss = jnp.mean((netz.apply(p, x) - y).astype(jnp.float32) ** 2)
            return (loss * skala).astype(jnp.float16), loss
        g, loss = jax.grad(f, has_aux=True)(p)
        g = jax.tree.map(lambda a: a.astype(jnp.float32) / skala, g)
        return g, loss, jnp.all(jnp.array([jnp.all(jnp.isfinite(a)) for a in jax.tree.leaves(g)]))

    @jax.jit
    def anwenden(p, zustand, g):
        u, zustand = tx.update(g, zustand, p)
        return optax.apply_updates(p, u), zustand

    skala, gut = 65536.0 * 4, 0
    for s in range(1, SCHRITTE + 1):
        x, y = daten(rng)
        g, loss, endlich = gradient(p, x, y, skala)
        if bool(endlich):
            p, zustand = anwenden(p, zustand, g)
            gut += 1
            if gut % 60 == 0:
                skala *= 2
        else:
            gut, skala = 0, skala / 2
            logging.warning("Gradient overflow (inf/nan), step %d skipped, loss scale now %g", s, skala)
        time.sleep(0.14)
        if s % 10 == 0:
            logging.info("Schritt %d Verlust %.4f Skala %g", s, float(loss), skala)
        if s % 100 == 0:
            with open("netz.msgpack", "wb") as f:
                f.write(serialization.to_bytes(p))
    logging.info("fertig nach %d Schritten", SCHRITTE)


if __name__ == "__main__":
    main()
