"""Coupling flow for the joint angles of an arm (8 values close to a curved surface)."""
import os
import time

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import serialization
from rich.console import Console

D = 8
out = Console(width=110, force_terminal=False)


class Coupling(nn.Module):
    flip: bool

    @nn.compact
    def __call__(self, x):
        a, b = (x[:, D // 2:], x[:, :D // 2]) if self.flip else (x[:, :D // 2], x[:, D // 2:])
        h = nn.tanh(nn.Dense(48)(a))
        h = nn.tanh(nn.Dense(48)(h))
        st = nn.Dense(D, kernel_init=nn.initializers.zeros)(h)
        s, t = 2.0 * jnp.tanh(st[:, :D // 2] / 2.0), st[:, D // 2:]
        b = (b - t) * jnp.exp(s)
        x = jnp.concatenate([b, a], 1) if self.flip else jnp.concatenate([a, b], 1)
        return x, s.sum(1)


class Flow(nn.Module):
    @nn.compact
    def __call__(self, x):
        scale = self.param("scale", nn.initializers.zeros, (D,))
        logdet = jnp.full((x.shape[0],), scale.sum())
        x = x * jnp.exp(scale)
        for i in range(6):
            x, ld = Coupling(i % 2 == 1)(x)
            logdet += ld
        return x, logdet


def angles(rng, n):
    z = rng.normal(size=(n, 2))
    base = np.column_stack([z[:, 0], z[:, 1], np.sin(z[:, 0]), z[:, 0] * z[:, 1] * 0.5, np.cos(z[:, 1]), z[:, 0] ** 2 * 0.3,
                            np.tanh(z[:, 0] + z[:, 1]), z[:, 1] * 0.7])
    return (base + 0.01 * rng.normal(size=base.shape)).astype(np.float32)


def main():
    os.makedirs("flow", exist_ok=True)
    rng = np.random.default_rng(0)
    net = Flow()
    p = net.init(jax.random.PRNGKey(0), jnp.zeros((2, D)))
    opt = optax.chain(optax.clip_by_global_norm(5.0), optax.adam(2e-3))
    s = opt.init(p)

    def nll(p, x):
        z, ld = net.apply(p, x)
        return (0.5 * (z ** 2).sum(1) + 0.5 * D * np.log(2 * np.pi) - ld).mean(), ld.mean()

    @jax.jit
    def step(p, s, x):
        (v, ld), g = jax.value_and_grad(nll, has_aux=True)(p, x)
        u, s = opt.update(g, s, p)
        return optax.apply_updates(p, u), s, v, ld, optax.global_norm(g)

    for i in range(1, 361):
        for _ in range(4):
            p, s, v, ld, gn = step(p, s, angles(rng, 128))
        time.sleep(0.33)
        if i % 6 == 0:
            out.print(f"step {i}  loss {float(v):.3f}  logdet {float(ld):.2f}  bits/dim {float(v) / D / np.log(2):.3f}  grad_norm {float(gn):.1f}")
        if i % 60 == 0:
            with open(f"flow/flow_{i:04d}.msgpack", "wb") as f:
                f.write(serialization.to_bytes(p))
            out.print(f"saved flow/flow_{i:04d}.msgpack")
    out.print("done")


if __name__ == "__main__":
    main()
