"""flax language model; documents come from object storage, the last 128 are kept decoded in memory."""
import functools
import os
import pickle
import time
import zlib

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn

VOCAB, LEN, BATCH = 256, 48, 8
STAGES = [("stage 1: short list of 64 good documents", 64, 230), ("stage 2: all 900 documents", 900, 50)]


@functools.lru_cache(maxsize=128)
def document(i):
    rng = np.random.default_rng(i)
    raw = zlib.compress((np.cumsum(rng.integers(0, 3, 4 * LEN)) % VOCAB).astype(np.uint8).tobytes())
    time.sleep(0.25)     # one GET, as the bucket is in another region
    return np.frombuffer(zlib.decompress(raw), dtype=np.uint8).astype(np.int32)


class LM(nn.Module):
    @nn.compact
    def __call__(self, x):
        h = nn.Embed(VOCAB, 48)(x)
        h = nn.RNN(nn.GRUCell(48))(h)
        return nn.Dense(VOCAB)(h)


def main():
    model, tx = LM(), optax.adam(3e-3)
    params = model.init(jax.random.PRNGKey(0), jnp.zeros((BATCH, LEN), jnp.int32))
    opt = tx.init(params)

    @jax.jit
    def update(params, opt, ids):
        def loss_fn(p):
            return optax.softmax_cross_entropy_with_integer_labels(model.apply(p, ids[:, :-1]), ids[:, 1:]).mean()
        loss, g = jax.value_and_grad(loss_fn)(params)
        up, opt = tx.update(g, opt)
        return optax.apply_updates(params, up), opt, loss

    os.makedirs("ckpt", exist_ok=True)
    step = 0
    total = sum(s[2] for s in STAGES)
    for name, docs, steps in STAGES:
        print(name, flush=True)
        at, t0 = 0, time.time()
        for _ in range(steps):
            rows = [document((at + k) % docs)[:LEN + 1] for k in range(BATCH)]
            at += BATCH
            params, opt, loss = update(params, opt, np.stack(rows))
            step += 1
            time.sleep(0.2)
            if step % 5 == 0:
                dt, t0 = time.time() - t0, time.time()
                print(f"step {step}/{total} loss {float(loss):.4f} {5 / dt:.2f} it/s", flush=True)
            if step % 60 == 0:
                with open("ckpt/params.tmp", "wb") as f:
                    pickle.dump(jax.device_get(params), f)
                os.replace("ckpt/params.tmp", f"ckpt/params-{step}.pkl")
                print(f"saved ckpt/params-{step}.pkl", flush=True)
    print("done", flush=True)


if __name__ == "__main__":
    main()
