"""Travel times around a well: a physics-informed net for the factored eikonal equation |grad T| = 1 / v.

T(x) = |x - source| * tau(x); tau is a small MLP. Adam on random collocation points, later on a grid as well.
"""
import pickle
import time
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax

SOURCE = np.array([0.5, 0.5], dtype=np.float32)
STEPS, REFINE_AT, SAVE_EVERY, PAUSE = 340, 170, 40, 0.3


def init(key, sizes=(2, 32, 32, 1)):
    keys = jax.random.split(key, len(sizes) - 1)
    return [(jax.random.normal(k, (m, n)) / np.sqrt(m), jnp.zeros(n)) for k, m, n in zip(keys, sizes, sizes[1:])]


def tau(params, x):
    h = x
    for w, b in params[:-1]:
        h = jnp.tanh(h @ w + b)
    w, b = params[-1]
    return 1.0 + (h @ w + b)[0]


def velocity(x):
    return 1.0 + 0.5 * x[1] + 0.2 * jnp.sin(4.0 * x[0])


def travel_time(params, x):
    return jnp.linalg.norm(x - SOURCE) * tau(params, x)


def residual(params, x):
    g = jax.grad(travel_time, argnums=1)(params, x)
    return jnp.sum(g * g) - 1.0 / velocity(x) ** 2


def loss_fn(params, points):
    r = jax.vmap(partial(residual, params))(points)
    return jnp.mean(r * r)


opt = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(2e-3))


@jax.jit
def update(params, state, points):
    loss, grads = jax.value_and_grad(loss_fn)(params, points)
    step, state = opt.update(grads, state, params)
    return optax.apply_updates(params, step), state, loss, optax.global_norm(grads)


def main():
    rng = np.random.default_rng(4)
    params = init(jax.random.PRNGKey(0))
    state = opt.init(params)
    Path("ckpt").mkdir(exist_ok=True)
    offsets = np.arange(-16, 17, dtype=np.float32) / 160.0
    near = SOURCE + np.stack(np.meshgrid(offsets, offsets), -1).reshape(-1, 2)
    print(f"jax {jax.__version__}, devices {jax.devices()}", flush=True)
    start = time.time()
    for step in range(1, STEPS + 1):
        points = rng.random((512, 2), dtype=np.float32)
        if step == REFINE_AT:
            print(f"phase 2: {len(near)} grid points around the source from here on", flush=True)
        if step >= REFINE_AT:
            points = np.concatenate([points, near])
        params, state, loss, gnorm = update(params, state, points)
        time.sleep(PAUSE)
        if step % 5 == 0:
            rate = step / (time.time() - start)
            print(f"step {step:4d}/{STEPS}  residual {float(loss):.4e}  |g| {float(gnorm):.3f}  {rate:.2f} it/s", flush=True)
        if step % SAVE_EVERY == 0:
            with open(f"ckpt/params_{step:04d}.pkl", "wb") as f:
                pickle.dump(jax.tree.map(np.asarray, params), f)
            print(f"saved ckpt/params_{step:04d}.pkl", flush=True)
    print(f"done, {STEPS} steps in {time.time() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
