"""Denoise synthetic absorption spectra with a small flax MLP."""
import time
from pathlib import Path

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import serialization
from flax.training import train_state

CHANNELS, EPOCHS, STEPS = 96, 14, 24
rng = np.random.default_rng(0)


class Denoiser(nn.Module):
    @nn.compact
    def __call__(self, x):
        h = nn.gelu(nn.Dense(128)(x))
        h = nn.gelu(nn.Dense(64)(h))
        return nn.Dense(CHANNELS)(h)


def spectra(n):
    grid = np.linspace(0, 1, CHANNELS)[None]
    clean = np.zeros((n, CHANNELS))
    for _ in range(3):
        c, w, a = rng.uniform(0.1, 0.9, (n, 1)), rng.uniform(0.02, 0.08, (n, 1)), rng.uniform(0.2, 1, (n, 1))
        clean += a * np.exp(-(((grid - c) / w) ** 2))
    return jnp.asarray(clean + 0.1 * rng.normal(size=clean.shape)), jnp.asarray(clean)


@jax.jit
def step(state, noisy, clean):
    def loss_fn(params):
        return jnp.mean((state.apply_fn({"params": params}, noisy) - clean) ** 2)

    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    return state.apply_gradients(grads=grads), loss, optax.global_norm(grads)


def main():
    model = Denoiser()
    params = model.init(jax.random.PRNGKey(0), jnp.ones((1, CHANNELS)))["params"]
    lr = optax.warmup_cosine_decay_schedule(0.0, 3e-3, 30, EPOCHS * STEPS)
    state = train_state.TrainState.create(apply_fn=model.apply, params=params, tx=optax.adamw(lr))
    held_noisy, held_clean = spectra(256)
    Path("ckpt").mkdir(exist_ok=True)
    print("devices:", jax.devices())
    for epoch in range(1, EPOCHS + 1):
        began, losses, norms = time.time(), [], []
        for _ in range(STEPS):
            state, loss, norm = step(state, *spectra(64))
            losses.append(float(loss))
            norms.append(float(norm))
            time.sleep(0.09)
        val = float(jnp.mean((model.apply({"params": state.params}, held_noisy) - held_clean) ** 2))
        print(f"[{epoch:02d}/{EPOCHS}] train_loss={np.mean(losses):.5f} val_loss={val:.5f} "
              f"grad_norm={np.mean(norms):.3f} lr={float(lr(epoch * STEPS)):.2e} time={time.time() - began:.1f}s",
              flush=True)
        Path(f"ckpt/epoch_{epoch:02d}.msgpack").write_bytes(serialization.to_bytes(state.params))
        for old in sorted(Path("ckpt").glob("*.msgpack"))[:-3]:
            old.unlink()
    print("done, val_loss", round(val, 5))


if __name__ == "__main__":
    main()
