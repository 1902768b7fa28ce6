"""Grip force from finger currents. JAX without a framework; stops when the validation does not get better."""
import csv
import pickle
import time

import jax
import jax.numpy as jnp
import numpy as np
import optax

PATIENCE = 8


def init(key, sizes):
    keys = jax.random.split(key, len(sizes))
    return [(jax.random.normal(k, (a, b)) / jnp.sqrt(a), jnp.zeros(b)) for k, a, b in zip(keys, sizes, sizes[1:])]


def net(params, x):
    for w, b in params[:-1]:
        x = jax.nn.gelu(x @ w + b)
    w, b = params[-1]
    return (x @ w + b)[:, 0]


def mse(params, x, y):
    return jnp.mean((net(params, x) - y) ** 2)


def data(n, seed):
    r = np.random.default_rng(seed)
    x = r.normal(size=(n, 8)).astype(np.float32)
    y = np.abs(x[:, 0]) + 0.5 * x[:, 1] * x[:, 2] + 0.4 * r.normal(size=n)
    return x, y.astype(np.float32)


def main():
    (x, y), (xv, yv) = data(400, 0), data(400, 1)
    params = init(jax.random.PRNGKey(0), [8, 64, 64, 1])
    tx = optax.adamw(3e-3)
    state = tx.init(params)

    @jax.jit
    def step(params, state, xb, yb):
        loss, g = jax.value_and_grad(mse)(params, xb, yb)
        u, state = tx.update(g, state, params)
        return optax.apply_updates(params, u), state, loss

    val = jax.jit(mse)
    best, bad = float("inf"), 0
    with open("fit.csv", "w", newline="") as f:
        w = csv.writer(f)
        w.writerow(["epoch", "train_mse", "val_mse", "best"])
        for epoch in range(1, 201):
            order = np.random.default_rng(epoch).permutation(len(x))
            losses = []
            for b in range(0, len(x), 40):
                i = order[b:b + 40]
                params, state, loss = step(params, state, x[i], y[i])
                losses.append(float(loss))
                time.sleep(0.16)
            v = float(val(params, xv, yv))
            if v < best:
                best, bad = v, 0
                pickle.dump(jax.device_get(params), open("best.pkl", "wb"))
            else:
                bad += 1
            w.writerow([epoch, f"{np.mean(losses):.5f}", f"{v:.5f}", f"{best:.5f}"])
            f.flush()
            print(f"epoch {epoch:3d}  train {np.mean(losses):.4f}  val {v:.4f}  best {best:.4f}  ({bad}/{PATIENCE})", flush=True)
            if bad >= PATIENCE:
                print(f"no better validation for {PATIENCE} epochs, stopping. best val {best:.4f}")
                break


if __name__ == "__main__":
    main()
