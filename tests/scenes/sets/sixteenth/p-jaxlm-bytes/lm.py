"""Byte-level LM in JAX/optax on a memory-mapped corpus."""
import sys
import time
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
from absl import logging

logging.set_verbosity(logging.INFO)
logging.use_absl_handler()
CTX, D, BS = 16, 48, 16


def init(key):
    k = jax.random.split(key, 3)
    return {"emb": jax.random.normal(k[0], (256, D)) * 0.1,
            "w1": jax.random.normal(k[1], (CTX * D, 96)) * (CTX * D) ** -0.5, "b1": jnp.zeros(96),
            "w2": jax.random.normal(k[2], (96, 256)) * 0.1, "b2": jnp.zeros(256)}


def loss_fn(p, x, y):
    h = p["emb"][x].reshape(len(x), -1)
    h = jax.nn.gelu(h @ p["w1"] + p["b1"])
    return optax.softmax_cross_entropy_with_integer_labels(h @ p["w2"] + p["b2"], y).mean()


sched = optax.warmup_cosine_decay_schedule(0.0, 3e-3, 20, 600)
tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(sched))


@partial(jax.jit, donate_argnums=(0, 1))
def update(p, s, x, y):
    l, g = jax.value_and_grad(loss_fn)(p, x, y)
    u, s = tx.update(g, s, p)
    return optax.apply_updates(p, u), s, l


def main(path, steps):
    data = np.memmap(path, np.uint8, "r")
    logging.info("corpus %s: %d bytes; devices %s", path, len(data), jax.devices())
    p = init(jax.random.key(0))
    s = tx.init(p)
    rng = np.random.default_rng(1)
    t = time.time()
    for step in range(1, steps + 1):
        at = rng.integers(0, len(data) - CTX - 1, BS)
        x = np.stack([data[i:i + CTX] for i in at])
        y = np.array([data[i + CTX] for i in at])
        p, s, l = update(p, s, x.astype(np.int32), y.astype(np.int32))
        time.sleep(0.25)
        if step % 10 == 0:
            logging.info("step %d/%d train/loss=%.4f train/bpb=%.3f steps_per_sec=%.2f", step, steps, float(l), float(l) / np.log(2), 10 / (time.time() - t))
            t = time.time()
        if step % 100 == 0:
            np.savez(f"ckpt_{step}.npz", **jax.device_get(p))
            logging.info("Saved checkpoint ckpt_%d.npz", step)


main(sys.argv[1], int(sys.argv[2]))
