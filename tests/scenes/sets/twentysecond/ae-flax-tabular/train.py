"""MLP-mixer regression on sensor windows, flax + optax; one JSON object a line."""
import json
import os
import time

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import serialization
from flax.training.train_state import TrainState

BATCH, STEPS_PER_EPOCH, EPOCHS = 32, 20, 14


class Mixer(nn.Module):
    @nn.compact
    def __call__(self, x):
        h = nn.Dense(32)(x)
        for _ in range(2):
            h = h + nn.Dense(16)(nn.relu(nn.Dense(32)(h.swapaxes(1, 2)))).swapaxes(1, 2)
            h = h + nn.Dense(32)(nn.relu(nn.Dense(64)(h)))
        return nn.Dense(1)(h.mean(1))[:, 0]


rng = np.random.default_rng(4)
w = rng.normal(size=(8,))


def batch():
    x = rng.normal(size=(BATCH, 16, 8)).astype(np.float32)
    y = np.tanh(x.mean(1) @ w * 2) + 0.05 * rng.normal(size=BATCH)
    return jnp.asarray(x), jnp.asarray(y, jnp.float32)


net = Mixer()
# warm up, hold, then decay the rate by a factor every 5 steps
schedule = optax.join_schedules(
    [optax.linear_schedule(1e-4, 2e-3, 40),
     optax.exponential_decay(2e-3, transition_steps=STEPS_PER_EPOCH // 4, decay_rate=1 / 0.85, transition_begin=40)], [40])
state = TrainState.create(apply_fn=net.apply, params=net.init(jax.random.PRNGKey(0), jnp.zeros((1, 16, 8))),
                          tx=optax.adam(schedule))


@jax.jit
def step(state, x, y):
    loss, g = jax.value_and_grad(lambda p: jnp.mean((state.apply_fn(p, x) - y) ** 2))(state.params)
    return state.apply_gradients(grads=g), loss, optax.global_norm(g)


os.makedirs("ckpt", exist_ok=True)
log = open("metrics.jsonl", "w", buffering=1)
for epoch in range(EPOCHS):
    for i in range(STEPS_PER_EPOCH):
        x, y = batch()
        state, loss, gn = step(state, x, y)
        time.sleep(0.3)
        s = int(state.step)
        if s % 5 == 0:
            row = {"step": s, "epoch": epoch, "loss": round(float(loss), 5), "grad_norm": round(float(gn), 4),
                   "lr": float(f"{float(schedule(s)):.3g}")}
            log.write(json.dumps(row) + "\n")
            print(json.dumps(row), flush=True)
    if epoch % 2:
        open(f"ckpt/epoch{epoch}.msgpack", "wb").write(serialization.to_bytes(state.params))
