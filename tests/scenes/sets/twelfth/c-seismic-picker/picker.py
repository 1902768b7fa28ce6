"""Picks the arrival of the P wave in synthetic seismograms."""
import argparse
import csv
import logging
import time

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax.training import train_state

logging.basicConfig(level=logging.INFO, format="%(asctime)s | %(levelname)-7s | %(message)s")
log = logging.getLogger()


class Picker(nn.Module):
    @nn.compact
    def __call__(self, x):
        for c, k in ((8, 7), (16, 5), (16, 5)):
            x = nn.relu(nn.Conv(c, (k,))(x))
        return nn.Conv(1, (3,))(x)[..., 0]


def traces(rng, n, m=64):
    arrival = rng.integers(10, m - 14, n)
    t = np.arange(m)[None] - arrival[:, None]
    wave = np.where(t >= 0, np.exp(-np.maximum(t, 0) / 8) * np.sin(0.9 * t + 0.5), 0)
    return (wave + 0.35 * rng.normal(size=wave.shape)).astype(np.float32)[..., None], arrival.astype(np.int32)


@jax.jit
def train_step(state, x, y):
    def loss_fn(p):
        logits = state.apply_fn(p, x)
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()
    loss, g = jax.value_and_grad(loss_fn)(state.params)
    return state.apply_gradients(grads=g), loss


@jax.jit
def evaluate(state, x, y):
    logits = state.apply_fn(state.params, x)
    loss = optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()
    return loss, (jnp.abs(logits.argmax(-1) - y) <= 1).mean()


ap = argparse.ArgumentParser()
ap.add_argument("--epochs", type=int, default=18)
ap.add_argument("--steps", type=int, default=40)
args = ap.parse_args()
rng = np.random.default_rng(7)
model = Picker()
state = train_state.TrainState.create(
    apply_fn=model.apply, params=model.init(jax.random.PRNGKey(0), jnp.zeros((1, 64, 1))), tx=optax.adam(2e-3))
log.info("backend %s, %d parameters", jax.default_backend(), sum(p.size for p in jax.tree.leaves(state.params)))
held = traces(np.random.default_rng(99), 256)
with open("runs/picker/metrics.csv", "w", newline="") as f:
    out = csv.writer(f)
    out.writerow(["epoch", "train", "val", "within1"])
    for epoch in range(1, args.epochs + 1):
        losses = []
        for i in range(args.steps):
            state, loss = train_step(state, *traces(rng, 32))
            losses.append(float(loss))
            time.sleep(0.06)
        val, hit = evaluate(state, *held)
        out.writerow([epoch, np.mean(losses), float(val), float(hit)])
        f.flush()
        log.info("epoch %2d/%d  loss %.4f  val_loss %.4f  within one sample %.1f%%", epoch, args.epochs, np.mean(losses), val, 100 * hit)
log.info("training complete, best pick rate %.1f%%", 100 * hit)
