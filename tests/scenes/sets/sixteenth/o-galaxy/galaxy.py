"""Photometric redshift: flax MLP on ugriz magnitudes; bar on stderr, epochs on stdout."""
import argparse
import time

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn
from tqdm.auto import tqdm


class PhotoZ(nn.Module):
    @nn.compact
    def __call__(self, m):
        h = nn.swish(nn.Dense(48)(m))
        h = nn.swish(nn.Dense(48)(h))
        return nn.softplus(nn.Dense(1)(h))[:, 0]


def catalogue(rng, n):
    z = rng.gamma(3.0, 0.15, n)
    base = 18 + rng.normal(0, 1, n)
    bands = np.stack([base + c * z + 0.1 * rng.normal(size=n) for c in (2.1, 1.2, 0.5, -0.2, -0.6)], 1)
    return (bands - 18).astype("float32"), z.astype("float32")


ap = argparse.ArgumentParser()
ap.add_argument("--epochs", type=int, default=9)
ap.add_argument("--lr", type=float, default=3e-3)
a = ap.parse_args()
rng = np.random.default_rng(5)
mags, z = catalogue(rng, 3200)
vm, vz = catalogue(rng, 400)
net = PhotoZ()
params = net.init(jax.random.PRNGKey(0), mags[:2])
opt = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(optax.cosine_decay_schedule(a.lr, a.epochs * 50)))
state = opt.init(params)


@jax.jit
def update(params, state, m, z):
    loss, g = jax.value_and_grad(lambda p: optax.huber_loss(net.apply(p, m), z).mean())(params)
    move, state = opt.update(g, state)
    return optax.apply_updates(params, move), state, loss


for epoch in range(a.epochs):
    order = rng.permutation(len(mags)).reshape(50, 64)
    with tqdm(order, desc=f"Epoch {epoch:02d}", unit="batch") as bar:
        for rows in bar:
            params, state, loss = update(params, state, mags[rows], z[rows])
            bar.set_postfix(huber=f"{loss:.5f}")
            time.sleep(0.1)
    dz = (net.apply(params, vm) - vz) / (1 + vz)
    nmad = 1.4826 * jnp.median(jnp.abs(dz - jnp.median(dz)))
    print(f"epoch {epoch:02d}: sigma_nmad={nmad:.4f} bias={dz.mean():+.4f} outliers={(jnp.abs(dz) > 0.15).mean():.3f}", flush=True)
np.savez("photoz.npz", *jax.tree_util.tree_leaves(params))
print("wrote photoz.npz", flush=True)
