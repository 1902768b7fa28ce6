"""Surrogate for the collision operator in half precision, with flax's dynamic loss scale."""
import sys
import time

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax.training import dynamic_scale as ds_lib
from flax.training import train_state


class State(train_state.TrainState):
    scale: ds_lib.DynamicScale


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = x.astype(jnp.float16)
        for _ in range(2):
            x = nn.swish(nn.Dense(48, dtype=jnp.float16)(x))
        return nn.Dense(32, dtype=jnp.float16)(x).astype(jnp.float32)


def batch(rng, n=64, m=32):
    v = np.linspace(-3, 3, m)
    t1, t2, c = rng.uniform(0.3, 1.5, (n, 1)), rng.uniform(0.3, 1.5, (n, 1)), rng.uniform(-1, 1, (n, 1))
    f = np.exp(-((v - c) ** 2) / t1) + np.exp(-((v + c) ** 2) / t2)
    q = np.gradient(v * f + np.gradient(f, v, axis=1), v, axis=1)
    return f.astype(np.float32), (8 * q).astype(np.float32)


@jax.jit
def step(state, x, y):
    def loss_fn(p):
        return ((state.apply_fn(p, x) - y) ** 2).mean()
    scale, finite, loss, g = state.scale.value_and_grad(loss_fn)(state.params)
    new = state.apply_gradients(grads=g)
    keep = lambda a, b: jax.tree.map(lambda u, w: jnp.where(finite, u, w), a, b)
    new = new.replace(params=keep(new.params, state.params), opt_state=keep(new.opt_state, state.opt_state), scale=scale)
    return new, loss, finite, optax.global_norm(g)


net = Net()
state = State.create(apply_fn=net.apply, params=net.init(jax.random.PRNGKey(0), jnp.zeros((1, 32))),
                     tx=optax.adam(optax.warmup_cosine_decay_schedule(1e-4, 3e-3, 60, 520)),
                     scale=ds_lib.DynamicScale(growth_interval=120, scale=jnp.float32(2.0**20)))
rng, skipped, t0 = np.random.default_rng(0), 0, time.time()
for i in range(1, 521):
    state, loss, finite, norm = step(state, *batch(rng))
    if not finite:
        skipped += 1
        print(f"step {i}: gradient overflow (norm {norm:.1f}), update skipped, loss scale -> {float(state.scale.scale):.0f}", file=sys.stderr)
    elif i % 10 == 0:
        print(f"step {i:4d} | loss {loss:.4f} | gnorm {norm:.3f} | scale {float(state.scale.scale):.0f} | skipped {skipped} | {i / (time.time() - t0):.1f} steps/s")
    time.sleep(0.07)
print(f"training finished, {skipped} of 520 updates skipped")
