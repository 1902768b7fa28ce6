"""Hyphenation model in flax. All numbers go to metrics.csv, standard output is left to errors."""
import csv
import time

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn
from flax import serialization
from flax.training import train_state

CHARS, LEN, BATCH, STEPS = 30, 12, 48, 330
rng = np.random.default_rng(1)
RULE = rng.random((CHARS, CHARS)) < 0.3


def words(n):
    x = rng.integers(0, CHARS, (n, LEN)).astype(np.int32)
    y = RULE[x[:, :-1], x[:, 1:]]
    flip = rng.random(y.shape) < 0.03
    return x, (y ^ flip).astype(np.float32)


class Model(nn.Module):
    @nn.compact
    def __call__(self, x):
        h = nn.Embed(CHARS, 32)(x)
        h = jnp.concatenate([h[:, :-1], h[:, 1:]], -1)
        return nn.Dense(1)(nn.gelu(nn.Dense(96)(h)))[..., 0]


@jax.jit
def step_fn(state, x, y):
    def loss_of(p):
        return optax.sigmoid_binary_cross_entropy(state.apply_fn(p, x), y).mean()

    loss, grads = jax.value_and_grad(loss_of)(state.params)
    return state.apply_gradients(grads=grads), loss


def main():
    model = Model()
    params = model.init(jax.random.PRNGKey(0), jnp.zeros((1, LEN), jnp.int32))
    state = train_state.TrainState.create(apply_fn=model.apply, params=params, tx=optax.adam(2e-3))
    vx, vy = words(256)
    with open("metrics.csv", "w", newline="") as f:
        out = csv.writer(f)
        out.writerow(["step", "train_loss", "val_loss", "val_acc"])
        for step in range(1, STEPS + 1):
            x, y = words(BATCH)
            state, loss = step_fn(state, x, y)
            time.sleep(0.32)
            if step % 10 == 0:
                logit = state.apply_fn(state.params, vx)
                v = optax.sigmoid_binary_cross_entropy(logit, vy).mean()
                acc = ((logit > 0) == (vy > 0.5)).mean()
                out.writerow([step, f"{float(loss):.5f}", f"{float(v):.5f}", f"{float(acc):.4f}"])
                f.flush()
            if step % 60 == 0:
                with open("model.msgpack", "wb") as g:
                    g.write(serialization.to_bytes(state.params))


if __name__ == "__main__":
    main()
