"""fp16 MLP with dynamic loss scaling, jax + optax (port of our apex script)."""
import json
import os
import pickle
import time

import jax
import jax.numpy as jnp
import numpy as np
import optax

rng = np.random.default_rng(0)
DIM, HID, OUT = 64, 96, 10
centers = rng.standard_normal((OUT, DIM)).astype(np.float32)


def batch(n=64):
    y = rng.integers(0, OUT, n)
    return (centers[y] + 1.2 * rng.standard_normal((n, DIM))).astype(np.float16), y


params = {
    "w1": rng.standard_normal((DIM, HID)).astype(np.float32) / 8,
    "w2": rng.standard_normal((HID, OUT)).astype(np.float32) / 10,
}
tx = optax.adamw(2e-3)
opt_state = tx.init(params)


def scaled_loss(p, x, y, scale):
    h = jax.nn.relu(x @ p["w1"].astype(jnp.float16))
    logits = h @ p["w2"].astype(jnp.float16)
    loss = optax.softmax_cross_entropy_with_integer_labels(logits.astype(jnp.float32), y).mean()
    return loss * scale, loss


@jax.jit
def step(p, s, x, y, scale):
    g, loss = jax.grad(scaled_loss, has_aux=True)(p, x, y, scale)
    g = jax.tree_util.tree_map(lambda v: v / scale, g)
    norm = optax.global_norm(g)
    ok = jnp.isfinite(norm)
    u, s2 = tx.update(g, s, p)
    p2 = optax.apply_updates(p, u)
    pick = lambda a, b: jnp.where(ok, a, b)
    return jax.tree_util.tree_map(pick, p2, p), jax.tree_util.tree_map(pick, s2, s), loss, norm, ok


os.makedirs("ckpt", exist_ok=True)
scale, good = 2.0 ** 24, 0
for it in range(1, 421):
    x, y = batch()
    params, opt_state, loss, norm, ok = step(params, opt_state, x, y, scale)
    if bool(ok):
        good += 1
        if good == 40:
            scale, good = scale * 2, 0
    else:
        scale, good = scale / 2, 0
        print(f"Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to {scale}", flush=True)
    if it % 10 == 0:
        print(json.dumps({"iter": it, "loss": round(float(loss), 4), "grad_norm": round(float(norm), 3), "loss_scale": scale, "skipped": not bool(ok)}), flush=True)
    if it % 100 == 0:
        with open(f"ckpt/{it:06d}.pkl", "wb") as f:
            pickle.dump((params, opt_state, scale), f)
    time.sleep(0.12)
print(json.dumps({"final_loss": float(loss)}), flush=True)
