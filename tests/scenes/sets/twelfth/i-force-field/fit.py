"""Fit a small neural potential to Lennard-Jones clusters (JAX + optax)."""
import json
import sys
import time

import jax
import jax.numpy as jnp
import optax
from config import CFG
from jax import random


def init(key, sizes):
    keys = random.split(key, len(sizes))
    return [{"w": random.normal(k, (m, n)) * jnp.sqrt(2.0 / m), "b": jnp.zeros(n)}
            for k, m, n in zip(keys, sizes[:-1], sizes[1:])]


def features(x):
    i, j = jnp.triu_indices(CFG["atoms"], 1)
    r = jnp.linalg.norm(x[:, i] - x[:, j], axis=-1)
    return jnp.sort(jnp.exp(-r), axis=-1)


def energy(x):
    i, j = jnp.triu_indices(CFG["atoms"], 1)
    r2 = jnp.sum((x[:, i] - x[:, j]) ** 2, -1) + 0.6
    return jnp.sum(r2**-6 - r2**-3, -1)


def predict(params, x):
    h = features(x)
    for layer in params[:-1]:
        h = jax.nn.relu(h @ layer["w"] + layer["b"])
    return (h @ params[-1]["w"] + params[-1]["b"])[:, 0]


schedule = optax.join_schedules(
    [optax.cosine_onecycle_schedule(CFG["cycle"], peak) for peak in CFG["peaks"]],
    [CFG["cycle"] * (i + 1) for i in range(len(CFG["peaks"]) - 1)],
)
tx = optax.adam(schedule)


@jax.jit
def update(params, state, key):
    x = random.normal(key, (128, CFG["atoms"], 3))
    target = energy(x)
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((predict(p, x) - target) ** 2))(params)
    updates, state = tx.update(grads, state)
    return optax.apply_updates(params, updates), state, loss


def main():
    key = random.PRNGKey(CFG["seed"])
    n = CFG["atoms"] * (CFG["atoms"] - 1) // 2
    params = init(key, [n, 128, 128, 128, 1])
    state = tx.init(params)
    out = open("metrics.jsonl", "w", buffering=1)
    window = []
    for it in range(1, CFG["cycle"] * len(CFG["peaks"]) + 1):
        key, sub = random.split(key)
        params, state, loss = update(params, state, sub)
        window.append(float(loss))
        time.sleep(0.05)
        if it % CFG["cycle"] == 1:
            print(f"--- cycle {it // CFG['cycle'] + 1} of {len(CFG['peaks'])}", flush=True)
        if it % 25 == 0:
            row = {"iter": it, "loss": round(sum(window) / len(window), 6), "lr": float(schedule(it))}
            out.write(json.dumps(row) + "\n")
            print(f"iter {it:5d} | loss {row['loss']:.5f} | lr {row['lr']:.2e}", flush=True)
            window.clear()


if __name__ == "__main__":
    sys.exit(main())
