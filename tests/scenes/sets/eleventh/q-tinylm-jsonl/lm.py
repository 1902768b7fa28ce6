import json
import os
import sys
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax.training.train_state import TrainState

T, V, D = 24, 40, 48


class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        mask = nn.make_causal_mask(jnp.ones(x.shape[:2]))
        x = x + nn.MultiHeadDotProductAttention(4)(nn.LayerNorm()(x), mask=mask)
        return x + nn.Dense(D)(nn.gelu(nn.Dense(2 * D)(nn.LayerNorm()(x))))


class LM(nn.Module):
    @nn.compact
    def __call__(self, t):
        x = nn.Embed(V, D)(t) + nn.Embed(T, D)(jnp.arange(t.shape[1]))
        for _ in range(2):
            x = Block()(x)
        return nn.Dense(V)(nn.LayerNorm()(x))


@jax.jit
def step(s, t):
    def f(p):
        return optax.softmax_cross_entropy_with_integer_labels(s.apply_fn(p, t[:, :-1]), t[:, 1:]).mean()
    loss, g = jax.value_and_grad(f)(s.params)
    return s.apply_gradients(grads=g), loss, optax.global_norm(g)


def main(steps=260):
    r = np.random.default_rng(2)
    table = r.dirichlet(np.full(V, 0.06), V)
    cum = table.cumsum(1)

    def batch():
        t = np.zeros((16, T + 1), int)
        t[:, 0] = r.integers(0, V, 16)
        for i in range(T):
            t[:, i + 1] = (cum[t[:, i]] < r.random((16, 1))).sum(1).clip(0, V - 1)
        return t.astype("i4")

    model = LM()
    sched = optax.warmup_cosine_decay_schedule(0.0, 3e-3, 30, steps, 1e-4)
    s = TrainState.create(apply_fn=model.apply, params=jax.jit(model.init)(jax.random.key(0), jnp.zeros((1, T), int)),
                          tx=optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(sched)))
    tokens, t0 = 0, time.time()
    for n in range(steps):
        s, loss, norm = step(s, batch())
        tokens += 16 * T
        time.sleep(0.12)
        if n % 5 == 0:
            row = {"ts": round(time.time(), 3), "step": n, "loss": round(float(loss), 4), "grad_norm": round(float(norm), 4),
                   "lr": float(f"{float(sched(n)):.3g}"), "tok_s": round(tokens / (time.time() - t0), 1)}
            sys.stdout.write(json.dumps(row) + "\n")
            sys.stdout.flush()
    print(json.dumps({"ts": round(time.time(), 3), "event": "finished", "steps": steps, "loss": round(float(loss), 4)}))


main()
