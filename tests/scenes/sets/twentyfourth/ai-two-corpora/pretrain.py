"""flax LM pretraining over two corpora: prose first, then code is mixed in. The loss jumps there and comes down again."""
import os
import pickle
import time

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn

VOCAB, LEN, BATCH, TOTAL, SWITCH = 400, 32, 16, 420, 200
rng = np.random.default_rng(0)


def batch(corpus):
    lo, stride = (0, 1) if corpus == "prose" else (200, 7)
    a = rng.integers(0, 200, (BATCH, 1))
    ids = (a + np.arange(LEN + 1) * stride) % 200 + lo
    noise = rng.integers(0, 200, ids.shape) + lo
    return np.where(rng.random(ids.shape) < 0.1, noise, ids).astype(np.int32)


class LM(nn.Module):
    @nn.compact
    def __call__(self, x):
        h = nn.Embed(VOCAB, 64)(x)
        h = h + nn.Dense(64)(nn.gelu(nn.Dense(128)(h)))
        return nn.Dense(VOCAB)(h)


def main():
    model, tx = LM(), optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(3e-3))
    params = model.init(jax.random.PRNGKey(0), jnp.zeros((BATCH, LEN), jnp.int32))
    opt = tx.init(params)

    @jax.jit
    def update(params, opt, ids):
        def f(p):
            return optax.softmax_cross_entropy_with_integer_labels(model.apply(p, ids[:, :-1]), ids[:, 1:]).mean()
        loss, g = jax.value_and_grad(f)(params)
        up, opt = tx.update(g, opt, params)
        return optax.apply_updates(params, up), opt, loss, optax.global_norm(g)

    os.makedirs("ckpt", exist_ok=True)
    for step in range(1, TOTAL + 1):
        if step == SWITCH:
            print(f"step {step}: data mix changes as planned: prose -> code 80 %, prose 20 %", flush=True)
        corpus = "prose" if step < SWITCH or rng.random() < 0.2 else "code"
        params, opt, loss, norm = update(params, opt, batch(corpus))
        time.sleep(0.22)
        if step % 10 == 0:
            print(f"step={step} loss={float(loss):.4f} grad_norm={float(norm):.3f} corpus={corpus}", flush=True)
        if step % 70 == 0:
            with open(f"ckpt/{step}.pkl", "wb") as f:
                pickle.dump(jax.device_get(params), f)
            print(f"checkpoint {step}", flush=True)
    print("pretraining finished", flush=True)


if __name__ == "__main__":
    main()
