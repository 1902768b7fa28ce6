import logging
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

OUT = Path(os.environ.get("RUN_DIR", "runs/0"))
CTX, VOCAB, STEPS, EVERY, KEEP = 8, 64, 700, 40, 3
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname).1s %(name)s: %(message)s",
                    filename="logs/train.log")
log = logging.getLogger("charlm")
for noisy in ("jax", "absl"):
    logging.getLogger(noisy).setLevel(logging.WARNING)


class CharLM(nn.Module):
    @nn.compact
    def __call__(self, x):
        h = nn.Embed(VOCAB, 32)(x).reshape(x.shape[0], -1)
        for _ in range(2):
            h = nn.gelu(nn.Dense(512)(h))
        return nn.Dense(VOCAB)(h)


def corpus(n=60_000):
    r = np.random.default_rng(0)
    words = [r.integers(1, VOCAB, r.integers(2, 7)) for _ in range(80)]
    return np.concatenate([np.append(words[i], 0) for i in r.zipf(1.4, n // 5) % 80])


@jax.jit
def step(state, x, y):
    def loss_fn(p):
        return optax.softmax_cross_entropy_with_integer_labels(state.apply_fn(p, x), y).mean()
    loss, g = jax.value_and_grad(loss_fn)(state.params)
    return state.apply_gradients(grads=g), loss


def save(state, n):
    path = OUT / f"ckpt_{n:06d}.msgpack"
    tmp = path.with_suffix(".tmp")
    tmp.write_bytes(serialization.to_bytes(state))
    tmp.rename(path)
    for old in sorted(OUT.glob("ckpt_*.msgpack"))[:-KEEP]:
        old.unlink()
    log.info("saved %s (%.1f MB)", path.name, path.stat().st_size / 1e6)


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    text = corpus()
    model = CharLM()
    params = model.init(jax.random.key(0), jnp.zeros((1, CTX), jnp.int32))
    state = TrainState.create(apply_fn=model.apply, params=params, tx=optax.adamw(1e-3))
    log.info("%d parameters, %d characters, output in %s", sum(p.size for p in jax.tree.leaves(params)), len(text), OUT)
    r = np.random.default_rng(1)
    for n in range(1, STEPS + 1):
        at = r.integers(0, len(text) - CTX - 1, 32)
        x = np.stack([text[a:a + CTX] for a in at]).astype("i4")
        state, loss = step(state, x, text[at + CTX].astype("i4"))
        time.sleep(0.1)
        if n % 10 == 0:
            log.info("step %d/%d loss %.4f", n, STEPS, float(loss))
        if n % EVERY == 0:
            save(state, n)


if __name__ == "__main__":
    try:
        main()
    except Exception:
        log.exception("run failed")
        sys.exit(1)
