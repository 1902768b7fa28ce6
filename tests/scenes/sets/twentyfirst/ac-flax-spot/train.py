"""Galaxy photometry regression (flax/optax); saves and leaves on SIGTERM, goes on from there at the next start."""
import os
import pathlib
import pickle
import signal
import sys
import time

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

STEPS, CKPT = 380, pathlib.Path("ckpt/state.pkl")
leave = False


def on_term(signum, frame):
    global leave
    leave = True
    print("SIGTERM received, finishing the step and saving", flush=True)


signal.signal(signal.SIGTERM, on_term)
pathlib.Path("train.pid").write_text(str(os.getpid()))


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        for w in (48, 48):
            x = nn.silu(nn.Dense(w)(x))
        return nn.Dense(1)(x)[:, 0]


net = Net()
params = net.init(jax.random.PRNGKey(1), jnp.zeros((1, 5)))
tx = optax.adamw(optax.cosine_decay_schedule(4e-3, STEPS))
opt, step = tx.init(params), 0
if CKPT.exists():
    params, opt, step = pickle.loads(CKPT.read_bytes())
    print(f"restored {CKPT} at step {step}", flush=True)


def save():
    CKPT.parent.mkdir(exist_ok=True)
    tmp = CKPT.with_suffix(".tmp")
    tmp.write_bytes(pickle.dumps(jax.device_get((params, opt, step))))
    tmp.replace(CKPT)
    print(f"step {step}: checkpoint written", flush=True)


@jax.jit
def update(params, opt, x, y):
    loss, g = jax.value_and_grad(lambda p: jnp.mean((net.apply(p, x) - y) ** 2))(params)
    up, opt = tx.update(g, opt, params)
    return optax.apply_updates(params, up), opt, loss


while step < STEPS:
    r = np.random.default_rng(step)
    x = r.normal(size=(64, 5)).astype(np.float32)
    y = np.sin(x[:, 0]) + x[:, 1] * x[:, 2] * 0.5 + 0.1 * r.normal(size=64)
    params, opt, loss = update(params, opt, x, y.astype(np.float32))
    step += 1
    time.sleep(0.26)
    if step % 5 == 0:
        print(f"step {step:4d}  redshift_mse {float(loss):.5f}", flush=True)
    if leave:
        save()
        sys.exit(75)
    if step % 50 == 0:
        save()
save()
print("training complete", flush=True)
