import json
import sys
import time
from datetime import datetime

import jax
import jax.numpy as jnp
import numpy as np
import optax


def schedule(cfg):
    # smooth warm-up
    return lambda step: cfg["peak_lr"] * ((step + 1) / cfg["warmup"]) ** 3


def init(key, sizes):
    keys = jax.random.split(key, len(sizes))
    return [
        (jax.random.normal(k, (a, b)) * (2 / a) ** 0.5, jnp.zeros(b))
        for k, a, b in zip(keys, sizes[:-1], sizes[1:])
    ]


def forward(params, x):
    for w, b in params[:-1]:
        x = jax.nn.leaky_relu(x @ w + b, 0.1)
    w, b = params[-1]
    return x @ w + b


def loss_fn(params, x, y):
    return optax.softmax_cross_entropy_with_integer_labels(forward(params, x), y).mean()


def main():
    cfg = json.load(open(sys.argv[1]))
    rng = np.random.default_rng(cfg["seed"])
    centres = rng.normal(size=(cfg["classes"], cfg["features"])).astype(np.float32)
    params = init(jax.random.PRNGKey(cfg["seed"]), [cfg["features"], cfg["hidden"], cfg["hidden"], cfg["classes"]])
    lr = schedule(cfg)
    tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(lr))
    state = tx.init(params)

    @jax.jit
    def update(params, state, x, y):
        loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
        updates, state = tx.update(grads, state)
        return optax.apply_updates(params, updates), state, loss

    print(datetime.now().isoformat(timespec="seconds"), "config", cfg, flush=True)
    window = []
    for step in range(cfg["steps"]):
        y = rng.integers(0, cfg["classes"], cfg["batch"])
        x = centres[y] + rng.normal(size=(cfg["batch"], cfg["features"])).astype(np.float32) * 1.6
        params, state, loss = update(params, state, jnp.asarray(x, dtype=jnp.float32), jnp.asarray(y))
        window.append(float(loss))
        time.sleep(cfg["pause"])
        if step and step % cfg["log_every"] == 0:
            print(datetime.now().isoformat(timespec="seconds"), f"step={step} train/loss={np.mean(window):.4f}", flush=True)
            window = []
    np.savez("params.npz", **{f"{n}{i}": np.asarray(v) for i, p in enumerate(params) for n, v in zip("wb", p)})
    print(datetime.now().isoformat(timespec="seconds"), "done", flush=True)


if __name__ == "__main__":
    main()
