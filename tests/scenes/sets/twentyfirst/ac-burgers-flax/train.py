"""One-step surrogate of Burgers' equation, trained on short rollouts (flax + optax)."""
import json
import os
import time

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import serialization

N, BATCH, ROLL, STEPS = 64, 8, 4, 440
BASE_LR, DEVICES, WARMUP = 8e-3, 64, 260


class Step(nn.Module):
    @nn.compact
    def __call__(self, u):
        h = u[..., None]
        for w in (12, 12):
            h = jnp.pad(h, ((0, 0), (2, 2), (0, 0)), mode="wrap")
            h = nn.leaky_relu(nn.Conv(w, (5,), padding="VALID")(h))
        return u + nn.Dense(1)(h)[..., 0]


def solver(u, dt=0.02, nu=0.02):
    dx = 2 * np.pi / N
    for _ in range(4):
        ux = (np.roll(u, -1, -1) - np.roll(u, 1, -1)) / (2 * dx)
        uxx = (np.roll(u, -1, -1) - 2 * u + np.roll(u, 1, -1)) / dx ** 2
        u = u + dt * (nu * 4 * uxx - u * ux)
    return u


rng = np.random.default_rng(1)
grid = np.linspace(0, 2 * np.pi, N, endpoint=False)


def batch():
    a, p = rng.normal(0, 0.5, (BATCH, 3, 1)), rng.uniform(0, 6.28, (BATCH, 3, 1))
    u = (a * np.sin(np.arange(1, 4)[None, :, None] * grid + p)).sum(1)
    seq = [u]
    for _ in range(ROLL):
        seq.append(solver(seq[-1]))
    return jnp.asarray(np.stack(seq, 1), jnp.float32)


net = Step()
params = net.init(jax.random.PRNGKey(0), jnp.zeros((1, N)))
# linear scaling rule: base rate times the number of devices, reached by an exponential warmup
sched = optax.exponential_decay(BASE_LR, WARMUP, DEVICES, end_value=BASE_LR * DEVICES)
tx = optax.adam(sched)
state = tx.init(params)


@jax.jit
def update(params, state, seq):
    def loss_fn(p):
        u, loss = seq[:, 0], 0.0
        for k in range(ROLL):
            u = net.apply(p, u)
            loss += jnp.mean((u - seq[:, k + 1]) ** 2)
        return loss / ROLL
    loss, g = jax.value_and_grad(loss_fn)(params)
    up, state2 = tx.update(g, state)
    return optax.apply_updates(params, up), state2, loss, optax.global_norm(g)


os.makedirs("ckpt", exist_ok=True)
seen = []
for step in range(1, STEPS + 1):
    params, state, loss, gn = update(params, state, batch())
    seen.append(float(loss))
    time.sleep(0.25)
    if step % 5 == 0:
        print(json.dumps({"step": step, "loss": round(float(np.mean(seen[-5:])), 7), "grad_norm": round(float(gn), 5),
                          "lr": round(float(sched(step)), 6), "time": round(time.time(), 1)}), flush=True)
    if step % 40 == 0:
        with open("ckpt/state.msgpack", "wb") as f:
            f.write(serialization.to_bytes(params))
        print(json.dumps({"event": "checkpoint", "step": step}), flush=True)
print(json.dumps({"event": "end", "final_loss": float(np.mean(seen[-20:]))}), flush=True)
