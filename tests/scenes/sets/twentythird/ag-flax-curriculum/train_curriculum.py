"""Letter-sequence model in Flax with a curriculum: harder material stage by stage."""
import csv
import os
import time

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import serialization

STAGES = [("8 symbols", 8, 90), ("24 symbols", 24, 110), ("64 symbols", 64, 150)]
rng = np.random.default_rng(0)
table = rng.permutation(64)


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        h = nn.Embed(64, 48)(x)
        return nn.Dense(64)(nn.relu(nn.Dense(96)(h)))


net = Net()
params = net.init(jax.random.PRNGKey(0), jnp.zeros((1, 8), "int32"))
tx = optax.adam(3e-3)
state = tx.init(params)


@jax.jit
def train_step(params, state, x, y):
    def f(p):
        return optax.softmax_cross_entropy_with_integer_labels(net.apply(p, x), y).mean()
    loss, g = jax.value_and_grad(f)(params)
    up, state = tx.update(g, state, params)
    return optax.apply_updates(params, up), state, loss


os.makedirs("ckpt", exist_ok=True)
log = csv.writer(open("log.csv", "w", buffering=1))
log.writerow(["step", "stage", "loss"])
step, total = 0, sum(s[2] for s in STAGES)
for number, (name, symbols, steps) in enumerate(STAGES, 1):
    print(f"--- curriculum stage {number}: {name}, {steps} steps", flush=True)
    for _ in range(steps):
        step += 1
        x = rng.integers(0, symbols, (8, 8))
        if number > 1:  # mostly new material
            lo = STAGES[number - 2][1]
            new = rng.integers(lo, symbols, (8, 8))
            x = np.where(rng.random((8, 8)) < 0.75, new, x)
        params, state, loss = train_step(params, state, x, table[x])
        log.writerow([step, number, round(float(loss), 4)])
        time.sleep(0.32)
        if step % 10 == 0:
            print(f"step {step}/{total} stage {number} loss {float(loss):.4f}", flush=True)
        if step % 70 == 0:
            with open(f"ckpt/{step}.msgpack", "wb") as f:
                f.write(serialization.to_bytes(params))
print("finished", flush=True)
