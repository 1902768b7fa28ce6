import time
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
import yaml

cfg = yaml.safe_load(open("schedule.yaml"))
G, C, B = cfg["grid"], cfg["channels"], cfg["batch"]
rng = np.random.default_rng(cfg["seed"])


def sequence(length):
    """Advected rain cells: a few Gaussians that drift with a common wind."""
    yy, xx = np.mgrid[0:G, 0:G]
    out = np.zeros((B, length, G, G, C), "float32")
    for b in range(B):
        u, v = rng.normal(0, 1.0, 2)
        cy, cx, s = rng.uniform(0, G, C), rng.uniform(0, G, C), rng.uniform(1.2, 2.5, C)
        for t in range(length):
            dy = (yy[..., None] - cy - v * t + G / 2) % G - G / 2
            dx = (xx[..., None] - cx - u * t + G / 2) % G - G / 2
            out[b, t] = np.exp(-(dy**2 + dx**2) / (2 * s**2))
    return out


def init(key):
    ks = jax.random.split(key, 3)
    w = lambda k, i, o: jax.random.normal(k, (3, 3, i, o)) * (2 / (9 * i)) ** 0.5
    return {"w1": w(ks[0], 2 * C, 24), "w2": w(ks[1], 24, 24), "w3": w(ks[2], 24, C) * 0.1}


def forward(p, prev, cur):
    conv = lambda x, w: jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    h = jax.nn.leaky_relu(conv(jnp.concatenate([prev, cur], -1), p["w1"]))
    return cur + conv(jax.nn.leaky_relu(conv(h, p["w2"])), p["w3"])


def loss_fn(p, x, rollout):
    prev, cur, total = x[:, 0], x[:, 1], 0.0
    for r in range(rollout):
        prev, cur = cur, forward(p, prev, cur)
        total += jnp.mean((cur - x[:, 2 + r]) ** 2)
    return total / rollout


params = init(jax.random.PRNGKey(cfg["seed"]))
print(f"jax {jax.__version__} backend={jax.default_backend()} params={sum(a.size for a in jax.tree.leaves(params))}", flush=True)
step = 0
for ph in cfg["phases"]:
    print(f"=== phase {ph['name']} (rollout {ph['rollout']}, {ph['steps']} steps, adamw)", flush=True)
    tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(ph["lr"]))
    state = tx.init(params)

    @partial(jax.jit, static_argnums=3)
    def update(p, s, x, rollout):
        val, g = jax.value_and_grad(loss_fn)(p, x, rollout)
        up, s = tx.update(g, s, p)
        return optax.apply_updates(p, up), s, val

    for _ in range(ph["steps"]):
        params, state, loss = update(params, state, sequence(2 + ph["rollout"]), ph["rollout"])
        step += 1
        time.sleep(0.12)
        if step % 5 == 0:
            print(f"step {step:5d} | train/loss {float(loss):.5e} | rmse {float(loss) ** 0.5:.4g} mm/h", flush=True)
    np.savez(f"nowcast_{ph['name']}.npz", **{k: np.asarray(v) for k, v in params.items()})
    print(f"saved nowcast_{ph['name']}.npz", flush=True)
print("done", flush=True)
