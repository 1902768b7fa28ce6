"""Hourly wind speed, one small net per site, all sites side by side with vmap."""
import os
import time

import jax
import jax.numpy as jnp
import numpy as np
import optax

from hours import SITES, load

LOOK, BATCH, STEPS = 12, 24, 420


def init(key):
    a, b = jax.random.split(key)
    return {"w1": jax.random.normal(a, (LOOK, 24)) * 0.25, "b1": jnp.zeros(24),
            "w2": jax.random.normal(b, (24, 1)) * 0.2, "b2": jnp.zeros(1)}


def predict(p, x):
    h = jnp.tanh(x @ p["w1"] + p["b1"])
    return (h @ p["w2"] + p["b2"])[:, 0]


def loss_fn(p, x, y):
    # speeds are log-normal, so the error is taken in logs
    return jnp.mean((predict(p, jnp.log1p(x)) - jnp.log(y)) ** 2)


opt = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(4e-3))


def update(p, s, x, y):
    value, g = jax.value_and_grad(loss_fn)(p, x, y)
    up, s = opt.update(g, s, p)
    return optax.apply_updates(p, up), s, value


def main():
    series = load()
    keys = jax.random.split(jax.random.PRNGKey(4), len(SITES))
    params = jax.vmap(init)(keys)
    state = jax.vmap(opt.init)(params)
    step_all = jax.jit(jax.vmap(update))
    os.makedirs("out", exist_ok=True)
    print(f"{len(SITES)} sites, {series.shape[1]} hours each, jax {jax.__version__}", flush=True)
    for step in range(1, STEPS + 1):
        t0 = step * BATCH
        idx = t0 + np.arange(BATCH)[:, None] + np.arange(LOOK)[None, :]
        x, y = series[:, idx], series[:, t0 + LOOK:t0 + LOOK + BATCH]
        params, state, losses = step_all(params, state, x, y)
        time.sleep(0.3)
        if step % 5 == 0:
            l = np.asarray(losses)
            each = "  ".join(f"{s} {v:.3f}" for s, v in zip(SITES, l))
            print(f"step {step:4d}  loss {np.nanmean(l):.4f}  |  {each}", flush=True)
        if step % 60 == 0:
            np.savez(f"out/sites_{step:04d}.npz", **{k: np.asarray(v) for k, v in params.items()})
            print(f"saved out/sites_{step:04d}.npz", flush=True)
    print("done", flush=True)


if __name__ == "__main__":
    main()
