"""First-arrival travel times with a factored eikonal network (JAX)."""
import argparse
import json
import os
import time

import jax
import jax.numpy as jnp
import numpy as np
import optax

SRC = np.array([0.5, 0.5], dtype=np.float32)


def init(key, sizes):
    params = []
    for m, n in zip(sizes[:-1], sizes[1:]):
        key, k = jax.random.split(key)
        params.append((jax.random.normal(k, (m, n)) * jnp.sqrt(1.0 / m), jnp.zeros(n)))
    return params


def tau(params, x):
    h = 2.0 * x - 1.0
    for w, b in params[:-1]:
        h = jnp.tanh(h @ w + b)
    w, b = params[-1]
    return 1.0 + (h @ w + b)[0]


def slowness2(x):
    v = 1.0 + 0.6 * x[1] + 0.2 * jnp.sin(2 * jnp.pi * x[0])
    return 1.0 / v ** 2


def travel_time(params, x):
    return jnp.linalg.norm(x - SRC) * tau(params, x)


def residual(params, x):
    g = jax.grad(travel_time, argnums=1)(params, x)
    return jnp.sum(g ** 2) - slowness2(x)


residuals = jax.jit(jax.vmap(residual, in_axes=(None, 0)))


def loss_fn(params, pts):
    return jnp.mean(jax.vmap(residual, in_axes=(None, 0))(params, pts) ** 2)


def emit(**kw):
    kw["t"] = round(time.time(), 2)
    print(json.dumps(kw), flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=420)
    p.add_argument("--refine-every", type=int, default=160)
    p.add_argument("--step-time", type=float, default=0.28)
    a = p.parse_args()
    os.makedirs("out", exist_ok=True)
    rng = np.random.default_rng(3)
    params = init(jax.random.PRNGKey(0), [2, 32, 32, 1])
    opt = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(2e-3))
    state = opt.init(params)

    @jax.jit
    def update(params, state, pts):
        loss, grads = jax.value_and_grad(loss_fn)(params, pts)
        upd, state = opt.update(grads, state, params)
        return optax.apply_updates(params, upd), state, loss, optax.global_norm(grads)

    # candidates for residual-based refinement
    axis = np.linspace(0.0, 1.0, 21)
    grid = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2).astype(np.float32)
    hard = rng.uniform(size=(16, 2)).astype(np.float32)
    emit(event="start", steps=a.steps, backend=jax.default_backend(), grid=len(grid))
    for step in range(1, a.steps + 1):
        pts = np.concatenate([rng.uniform(size=(240, 2)).astype(np.float32), hard])
        params, state, loss, gnorm = update(params, state, pts)
        time.sleep(a.step_time)
        if step % 4 == 0:
            emit(event="train", step=step, loss=float(loss), grad_norm=float(gnorm))
        if step % 60 == 0:
            flat = {f"{k}{i}": np.asarray(v) for i, (w, b) in enumerate(params) for k, v in (("w", w), ("b", b))}
            np.savez("out/params.npz", **flat)
            emit(event="saved", step=step, path="out/params.npz")
        if step % a.refine_every == 0:
            r = np.abs(np.asarray(residuals(params, grid)))
            hard = grid[np.argsort(r)[-16:]]
            emit(event="refine", step=step, new_points=len(hard))
    emit(event="done", step=a.steps, loss=float(loss))


if __name__ == "__main__":
    main()
