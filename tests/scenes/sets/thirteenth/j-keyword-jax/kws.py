import glob
import json
import os
import time

import jax
import jax.numpy as jnp
import numpy as np
import optax

WORDS = "yes no up down left right on off stop go".split()
STEPS, BATCH = 400, 16
rng = np.random.default_rng(0)
proto = np.random.default_rng(9).normal(size=(len(WORDS), 20, 13)).astype("f4")


def batch(n):
    y = rng.integers(0, len(WORDS), n)
    return 0.4 * proto[y] + rng.normal(size=(n, 20, 13)).astype("f4"), y


def init(key):
    a, b = jax.random.split(key)
    return {"w1": jax.random.normal(a, (260, 96)) * 0.05, "b1": jnp.zeros(96),
            "w2": jax.random.normal(b, (96, len(WORDS))) * 0.1, "b2": jnp.zeros(len(WORDS))}


def logits(p, x):
    return jax.nn.relu(x.reshape(len(x), -1) @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]


def loss_fn(p, x, y):
    return optax.softmax_cross_entropy_with_integer_labels(logits(p, x), y).mean()


schedule = optax.warmup_cosine_decay_schedule(0.0, 2e-3, 40, STEPS)
tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule))


@jax.jit
def update(p, s, x, y):
    loss, g = jax.value_and_grad(loss_fn)(p, x, y)
    u, s = tx.update(g, s, p)
    return optax.apply_updates(p, u), s, loss, optax.global_norm(g)


params = init(jax.random.key(0))
state = tx.init(params)
os.makedirs("ckpt", exist_ok=True)
metrics = open("metrics.jsonl", "a", buffering=1)
print("keywords:", ", ".join(WORDS), "| device:", jax.devices()[0])
start = time.time()
for step in range(1, STEPS + 1):
    x, y = batch(BATCH)
    params, state, loss, norm = update(params, state, x, y)
    time.sleep(0.1)
    if step % 10 == 0:
        row = {"step": step, "loss": round(float(loss), 4), "grad_norm": round(float(norm), 3), "lr": float(schedule(step)), "wall": round(time.time() - start, 2)}
        metrics.write(json.dumps(row) + "\n")
        print(f"{step:>4}/{STEPS} loss {row['loss']:.4f} ({BATCH * step / row['wall']:.0f} clips/s)")
    if step % 100 == 0:
        x, y = batch(400)
        acc = float((logits(params, x).argmax(-1) == y).mean())
        metrics.write(json.dumps({"step": step, "eval/accuracy": acc}) + "\n")
        print(f"eval at {step}: accuracy {acc:.3f}")
        np.savez(f"ckpt/kws-{step:05d}.npz", **params)
        for old in sorted(glob.glob("ckpt/*.npz"))[:-3]:
            os.remove(old)
print("finished, best model is the last one")
