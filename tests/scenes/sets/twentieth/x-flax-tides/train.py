"""Fit tides; one JSON object per line on stdout, as the dashboard wants it."""
import json
import sys
import time

import jax
import jax.numpy as jnp
import optax

from model import TideNet, series

STEPS, CYCLE = 750, 250
PEAKS = [1e-2, 6e-1, 4e-3]


def emit(**row):
    row["ts"] = round(time.time(), 2)
    print(json.dumps(row), flush=True)


def main() -> int:
    net = TideNet()
    key = jax.random.PRNGKey(0)
    params = net.init(key, jnp.zeros((1, 24)))
    # warm restarts
    schedule = optax.join_schedules(
        [optax.warmup_cosine_decay_schedule(0.001, peak, 80, CYCLE, 0.001) for peak in PEAKS],
        [CYCLE, 2 * CYCLE],
    )
    tx = optax.adam(schedule)
    state = tx.init(params)

    @jax.jit
    def step(params, state, key):
        start = jax.random.uniform(key, (64, 1)) * 5000
        t = start + jnp.arange(25)
        x = series(t)

        def loss_fn(p):
            return jnp.mean((net.apply(p, x[:, :24]) - x[:, 24]) ** 2)

        loss, grads = jax.value_and_grad(loss_fn)(params)
        updates, state = tx.update(grads, state, params)
        return optax.apply_updates(params, updates), state, loss, optax.global_norm(grads)

    emit(event="start", steps=STEPS, devices=[str(d) for d in jax.devices()], params=sum(p.size for p in jax.tree.leaves(params)))
    for i in range(1, STEPS + 1):
        key, sub = jax.random.split(key)
        params, state, loss, norm = step(params, state, sub)
        time.sleep(0.1)
        if i % 5 == 0:
            emit(event="train", step=i, loss=round(float(loss), 5), grad_norm=round(float(norm), 4), lr=round(float(schedule(i)), 5))
    emit(event="end", step=STEPS, loss=float(loss))
    return 0


if __name__ == "__main__":
    sys.exit(main())
