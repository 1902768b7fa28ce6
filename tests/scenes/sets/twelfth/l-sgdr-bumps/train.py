import logging
import time

import jax
import jax.numpy as jnp
import numpy as np
import optax

logging.basicConfig(level=logging.INFO, format="%(levelname).1s%(asctime)s %(filename)s:%(lineno)d] %(message)s", datefmt="%m%d %H:%M:%S")
logging.getLogger("jax").setLevel(logging.WARNING)
log = logging.getLogger("sgdr")

schedule = optax.sgdr_schedule([
    dict(init_value=0.0, peak_value=p, decay_steps=150, warmup_steps=5, end_value=1e-4) for p in (0.02, 0.06, 0.06, 0.05)
])
tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(schedule))
k = jax.random.split(jax.random.key(0), 3)
params = {"a": jax.random.normal(k[0], (8, 48)) * 0.4, "b": jax.random.normal(k[1], (48, 48)) * 0.2, "c": jax.random.normal(k[2], (48, 1)) * 0.2}


def loss_fn(p, x, y):
    h = jnp.tanh(x @ p["a"])
    h = jnp.tanh(h @ p["b"])
    return jnp.mean((h @ p["c"] - y) ** 2)


@jax.jit
def update(p, s, x, y):
    loss, g = jax.value_and_grad(loss_fn)(p, x, y)
    u, s = tx.update(g, s, p)
    return optax.apply_updates(p, u), s, loss


state = tx.init(params)
rng = np.random.default_rng(1)
X = rng.normal(size=(2048, 8)).astype(np.float32)
Y = (np.sin(X[:, :1]) + 0.5 * X[:, 1:2]).astype(np.float32)
log.info("devices: %s", jax.devices())
for step in range(600):
    rows = rng.integers(0, len(X), 256)
    x, y = X[rows], Y[rows]
    params, state, loss = update(params, state, x, y)
    time.sleep(0.07)
    if step % 10 == 9:
        log.info("step %d/600 loss %.5f lr %.5f", step + 1, float(loss), float(schedule(step)))
    if step % 150 == 149:
        np.savez(f"cycle{step // 150 + 1}.npz", **{n: np.asarray(v) for n, v in params.items()})
        log.info("end of cycle %d, snapshot for the ensemble written", step // 150 + 1)
log.info("training complete")
