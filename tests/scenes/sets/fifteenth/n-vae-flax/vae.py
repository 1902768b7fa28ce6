"""Auto-encodeur variationnel (flax.linen + optax) sur de petites images synthetiques."""
import logging
import os
import time

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import serialization
from flax.training import train_state

logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", datefmt="%Y-%m-%d %H:%M:%S", level=logging.INFO)
log = logging.getLogger("vae")
logging.getLogger("jax").setLevel(logging.WARNING)


class VAE(nn.Module):
    @nn.compact
    def __call__(self, x, rng):
        h = nn.relu(nn.Dense(320)(x))
        mu, lv = nn.Dense(8)(h), nn.Dense(8)(h)
        z = mu + jnp.exp(0.5 * lv) * jax.random.normal(rng, mu.shape)
        return nn.Dense(256)(nn.relu(nn.Dense(320)(z))), mu, lv


def images(n, rng):
    u = np.linspace(-1, 1, 16)
    cx, cy, r = rng.uniform(-0.5, 0.5, (3, n, 1, 1))
    d = np.hypot(u[None, None, :] - cx, u[None, :, None] - cy)
    return (d < np.abs(r) + 0.15).astype(np.float32).reshape(n, 256)


@jax.jit
def pas(etat, x, rng):
    def cout(p):
        rec, mu, lv = etat.apply_fn(p, x, rng)
        bce = optax.sigmoid_binary_cross_entropy(rec, x).sum(-1).mean()
        kl = -0.5 * (1 + lv - mu ** 2 - jnp.exp(lv)).sum(-1).mean()
        return bce + kl, (bce, kl)
    (_, aux), g = jax.value_and_grad(cout, has_aux=True)(etat.params)
    return etat.apply_gradients(grads=g), aux


def main():
    modele = VAE()
    cle = jax.random.PRNGKey(3)
    x = images(1024, np.random.default_rng(0))
    p = modele.init(cle, x[:2], cle)
    etat = train_state.TrainState.create(apply_fn=modele.apply, params=p, tx=optax.adam(1e-3))
    log.info("paramètres : %d", sum(v.size for v in jax.tree_util.tree_leaves(p)))
    for epoque in range(1, 61):
        t0, b, k = time.time(), [], []
        for i in range(0, len(x), 128):
            cle, r = jax.random.split(cle)
            etat, (bce, kl) = pas(etat, x[i:i + 128], r)
            b.append(float(bce))
            k.append(float(kl))
            time.sleep(0.28)
        log.info("époque %3d  reconstruction %.2f  kl %.2f  durée %.1fs", epoque, np.mean(b), np.mean(k), time.time() - t0)
        chemin = os.path.join("sorties", f"etat_{epoque:04d}.msgpack")
        with open(chemin, "wb") as f:
            f.write(serialization.to_bytes(etat))
        log.info("sauvegardé %s (%.1f Mo)", chemin, os.path.getsize(chemin) / 1e6)
    log.info("terminé")


main()
