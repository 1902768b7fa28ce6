import os
import sys
import time
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import serialization
from flax.training.train_state import TrainState

LIMIT = float(os.environ.get("SLICE_SECONDS", "16"))
STEPS, CKPT = 380, Path("state.msgpack")
REQUEUE = 85


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        for w in (48, 48):
            x = nn.silu(nn.Dense(w)(x))
        return nn.Dense(3)(x)


@jax.jit
def update(s, x, y):
    loss, g = jax.value_and_grad(lambda p: jnp.abs(s.apply_fn(p, x) - y).mean())(s.params)
    return s.apply_gradients(grads=g), loss


def write(state):
    tmp = CKPT.with_suffix(".tmp")
    tmp.write_bytes(serialization.to_bytes(state))
    tmp.rename(CKPT)


def main():
    began = time.time()
    net = Net()
    state = TrainState.create(apply_fn=net.apply, params=jax.jit(net.init)(jax.random.key(0), jnp.zeros((1, 6))),
                              tx=optax.adam(optax.cosine_decay_schedule(3e-3, STEPS)))
    if CKPT.exists():
        state = serialization.from_bytes(state, CKPT.read_bytes())
        print(f"[slice] resumed from {CKPT} at step {int(state.step)}", flush=True)
    while int(state.step) < STEPS:
        n = int(state.step)
        r = np.random.default_rng(n)
        x = r.normal(size=(64, 6)).astype("f4")
        y = np.stack([np.sin(x[:, 0] * 2), x[:, 1] * x[:, 2], np.tanh(x[:, 3])], 1).astype("f4")
        state, loss = update(state, x, y)
        time.sleep(0.11)
        if (n + 1) % 10 == 0:
            print(f"[train] step {n + 1}/{STEPS} mae {float(loss):.4f}", flush=True)
        if (n + 1) % 50 == 0:
            write(state)
        if time.time() - began > LIMIT and n + 1 < STEPS:
            write(state)
            print(f"[slice] {LIMIT:.0f} s are over at step {n + 1}, state saved, asking to be queued again", flush=True)
            return REQUEUE
    write(state)
    print("[train] complete", flush=True)
    return 0


sys.exit(main())
