"""Character model of place names in flax, four micro-batches a step."""
import csv
import time

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn
from flax import serialization
from flax.training import train_state

VOCAB, SEQ, MICRO, ACCUM, STEPS = 64, 24, 8, 4, 480
rng = np.random.default_rng(0)
TABLE = rng.integers(0, VOCAB, size=(VOCAB, VOCAB, 2))


def micro():
    x = np.zeros((MICRO, SEQ + 1), np.int32)
    x[:, 0] = rng.integers(0, VOCAB, MICRO)
    x[:, 1] = rng.integers(0, VOCAB, MICRO)
    for t in range(2, SEQ + 1):
        x[:, t] = TABLE[x[:, t - 1], x[:, t - 2] % 4, rng.integers(0, 2, MICRO)]
    return x


class Model(nn.Module):
    @nn.compact
    def __call__(self, x):
        h = nn.Embed(VOCAB, 48)(x)
        prev = jnp.pad(h, ((0, 0), (1, 0), (0, 0)))[:, :-1]
        h = jnp.concatenate([h, prev], -1)
        h = nn.gelu(nn.Dense(192)(h))
        return nn.Dense(VOCAB)(h)


schedule = optax.warmup_cosine_decay_schedule(0.0, 1.2e-3, warmup_steps=40, decay_steps=STEPS)


@jax.jit
def step_fn(state, x):
    def loss_of(p):
        logits = state.apply_fn(p, x[:, :-1])
        return optax.softmax_cross_entropy_with_integer_labels(logits, x[:, 1:]).mean()

    loss, g = jax.value_and_grad(loss_of)(state.params)
    return state.apply_gradients(grads=g), loss


def main():
    model = Model()
    params = model.init(jax.random.PRNGKey(0), jnp.zeros((1, SEQ), jnp.int32))
    state = train_state.TrainState.create(apply_fn=model.apply, params=params, tx=optax.adamw(schedule))
    val = np.concatenate([micro() for _ in range(8)])
    out = csv.writer(open("metrics.csv", "w", newline=""))
    out.writerow(["step", "loss", "val_loss", "lr"])
    for step in range(1, STEPS + 1):
        losses = []
        for _ in range(ACCUM):
            state, loss = step_fn(state, jnp.asarray(micro()))
            losses.append(float(loss))
        time.sleep(0.3)
        if step % 6 == 0:
            lr = float(schedule(state.step))
            logits = state.apply_fn(state.params, val[:, :-1])
            v = float(optax.softmax_cross_entropy_with_integer_labels(logits, val[:, 1:]).mean())
            out.writerow([step, np.mean(losses), v, lr])
            print(f"step {step}/{STEPS} loss={np.mean(losses):.4f} val={v:.4f} lr={lr:.2e}", flush=True)
        if step % 48 == 0:
            with open(f"params-{step:04d}.msgpack", "wb") as f:
                f.write(serialization.to_bytes(state.params))
    print("done")


if __name__ == "__main__":
    main()
