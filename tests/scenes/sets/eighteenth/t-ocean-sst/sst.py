import json
import os
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn

STEPS, EVAL = 420, 60
rng = np.random.default_rng(0)


def window(n):
    """Sea surface temperature anomalies at 20 buoys: a slow oscillation plus weather."""
    ph, per = rng.uniform(0, 6.3, (n, 1, 20)), rng.uniform(30, 60, (n, 1, 1))
    t = np.arange(36)[None, :, None]
    x = np.sin(2 * np.pi * t / per + ph) + 0.2 * rng.standard_normal((n, 36, 20))
    return x[:, :24].reshape(n, -1).astype("float32"), x[:, [26, 29, 35]].astype("float32")


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        for _ in range(2):
            x = nn.gelu(nn.Dense(96)(x))
        return nn.Dense(60)(x).reshape(-1, 3, 20)


def out(**kw):
    sys.stderr.write(json.dumps({"ts": round(time.time(), 2), **kw}) + "\n")
    sys.stderr.flush()


net = Net()
p = net.init(jax.random.PRNGKey(1), jnp.zeros((1, 480)))
tx = optax.adamw(optax.warmup_cosine_decay_schedule(0.0, 3e-3, 40, STEPS))
s = tx.init(p)


@jax.jit
def step(p, s, x, y):
    l, g = jax.value_and_grad(lambda q: jnp.mean((net.apply(q, x) - y) ** 2))(p)
    u, s = tx.update(g, s, p)
    return optax.apply_updates(p, u), s, l, optax.global_norm(g)


predict = jax.jit(net.apply)
vx, vy = window(200)
out(event="start", params=sum(a.size for a in jax.tree.leaves(p)), devices=str(jax.devices()))
for k in range(1, STEPS + 1):
    p, s, l, g = step(p, s, *window(32))
    time.sleep(0.09)
    if k % 10 == 0:
        out(event="train", step=k, mse=round(float(l), 5), grad_norm=round(float(g), 4))
    if k % EVAL == 0:
        rmse = np.sqrt(np.mean((np.asarray(predict(p, vx)) - vy) ** 2, axis=(0, 2)))
        out(event="eval", step=k, **{f"rmse_lead_{m}m": round(float(v), 4) for m, v in zip((3, 6, 12), rmse)})
        os.makedirs("ckpt", exist_ok=True)
        np.savez(f"ckpt/{k:06d}.npz", *jax.tree.leaves(p))
        for old in sorted(os.listdir("ckpt"))[:-3]:
            os.remove(f"ckpt/{old}")
        out(event="checkpoint", step=k, kept=len(os.listdir("ckpt")))
out(event="end")
