"""RealNVP on two moons, JAX. Prints a table as pandas would show it."""
import time

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pandas as pd

N_LAYERS, H = 6, 32


def init(key):
    ps = []
    for k in jax.random.split(key, N_LAYERS):
        a, b = jax.random.split(k)
        ps.append({"w1": jax.random.normal(a, (1, H)), "b1": jnp.zeros(H), "w2": jax.random.normal(b, (H, 2)) * 0.01, "b2": jnp.zeros(2)})
    return ps


def log_prob(ps, x):
    ld = 0.0
    for i, p in enumerate(ps):
        a, b = (x[:, :1], x[:, 1:]) if i % 2 == 0 else (x[:, 1:], x[:, :1])
        st = jnp.tanh(a @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]
        s, t = 2 * jnp.tanh(st[:, :1]), st[:, 1:]
        b = b * jnp.exp(s) + t
        ld = ld + s[:, 0]
        x = jnp.concatenate([a, b] if i % 2 == 0 else [b, a], 1)
    return -0.5 * (x**2).sum(1) - jnp.log(2 * jnp.pi) + ld


def moons(rng, n):
    t = rng.uniform(0, np.pi, n)
    up = rng.random(n) < 0.5
    x = np.where(up[:, None], np.stack([np.cos(t), np.sin(t)], 1), np.stack([1 - np.cos(t), 0.5 - np.sin(t)], 1))
    return ((x + rng.normal(0, 0.02, x.shape)) * 0.25).astype("f4")


loss = lambda p, x: -log_prob(p, x).mean()
tx = optax.adam(2e-3)


@jax.jit
def update(p, s, x):
    l, g = jax.value_and_grad(loss)(p, x)
    u, s = tx.update(g, s)
    return optax.apply_updates(p, u), s, l, optax.global_norm(g)


rng = np.random.default_rng(0)
p = init(jax.random.key(1))
s = tx.init(p)
xv = moons(np.random.default_rng(99), 512)
val = jax.jit(loss)
rows, best = [], float("inf")
print(f"start, best_val_nll = {best}", flush=True)
for epoch in range(1, 31):
    ls = []
    for _ in range(12):
        p, s, l, gn = update(p, s, moons(rng, 256))
        ls.append(float(l))
        time.sleep(0.12)
    row = {"epoch": epoch, "train_nll": np.mean(ls), "grad_norm": float(gn), "val_nll": np.nan}
    if epoch % 5 == 0:
        row["val_nll"] = float(val(p, xv))
        if row["val_nll"] < best:
            best = row["val_nll"]
            np.savez("flow_best.npz", *jax.tree.leaves(jax.device_get(p)))
    rows.append(row)
    df = pd.DataFrame(rows)
    print(df.tail(1).to_string(index=False, header=epoch % 5 == 1, float_format="%.4f"), flush=True)
df.to_csv("flow.csv", index=False)
print(f"finished, best_val_nll = {best:.4f}", flush=True)
