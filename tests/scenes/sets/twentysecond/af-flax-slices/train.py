"""Flax regression surrogate of a reactor code, trained in slices of the night queue."""
import glob
import os
import signal
import sys
import time

import flax.linen as nn
import flax.serialization
import jax
import jax.numpy as jnp
import numpy as np
import optax

STATE = "state.msgpack"
TOTAL = 900


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        for w in (128, 128):
            x = nn.swish(nn.Dense(w)(x))
        return nn.Dense(1)(x)[:, 0]


net = Net()
tx = optax.adam(2e-3)
params = net.init(jax.random.PRNGKey(0), jnp.zeros((1, 8)))
state = {"params": params, "opt": tx.init(params), "step": 0}


def save(state):
    # the archive is a slow network disk, it takes the file in pieces
    data = flax.serialization.to_bytes(state)
    piece = len(data) // 16
    with open(STATE, "wb") as f:
        for i in range(0, len(data), piece):
            f.write(data[i:i + piece])
            f.flush()
            time.sleep(0.15)
    print(f"state saved, step {state['step']}, {len(data) // 1024} KiB", flush=True)


if os.path.exists(STATE):
    print(f"restoring {STATE} ({os.path.getsize(STATE) // 1024} KiB)", flush=True)
    state = flax.serialization.from_bytes(state, open(STATE, "rb").read())
    print(f"restored at step {state['step']}", flush=True)

asked = []
signal.signal(signal.SIGTERM, lambda *a: asked.append(1))


@jax.jit
def update(params, opt, x, y):
    loss, g = jax.value_and_grad(lambda p: jnp.mean((net.apply(p, x) - y) ** 2))(params)
    up, opt = tx.update(g, opt)
    return optax.apply_updates(params, up), opt, loss


rng = np.random.default_rng(int(state["step"]))
params, opt = state["params"], state["opt"]
step = int(state["step"])
while step < TOTAL:
    for _ in range(4):
        x = rng.normal(size=(128, 8)).astype(np.float32)
        y = np.sin(x[:, 0]) * x[:, 1] + 0.3 * x[:, 2] ** 2
        params, opt, loss = update(params, opt, x, y)
    step += 1
    time.sleep(0.2)
    if step % 5 == 0:
        print(f"step={step} mse={float(loss):.5f}", flush=True)
    if step % 60 == 0:
        save({"params": params, "opt": opt, "step": step})
    if asked:
        print(f"slice over at step {step}, saving", flush=True)
        save({"params": params, "opt": opt, "step": step})
        sys.exit(0)
print("all steps done", flush=True)
