import argparse
import json
import time

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax


class Block(nn.Module):
    heads: int
    width: int

    @nn.compact
    def __call__(self, x):
        b, n, _ = x.shape
        qkv = nn.Dense(3 * self.width)(nn.LayerNorm()(x))
        q, k, v = (t.reshape(b, n, self.heads, self.width // self.heads) for t in jnp.split(qkv, 3, -1))
        a = jax.nn.softmax(jnp.einsum("bnhd,bmhd->bhnm", q, k) / q.shape[-1] ** 0.5)
        x = x + nn.Dense(self.width)(jnp.einsum("bhnm,bmhd->bnhd", a, v).reshape(b, n, self.width))
        return x + nn.Dense(self.width)(nn.gelu(nn.Dense(2 * self.width)(nn.LayerNorm()(x))))


class Closure(nn.Module):
    heads: int
    width: int

    @nn.compact
    def __call__(self, u):
        x = nn.Dense(self.width)(u[..., None])
        x = x + self.param("pos", nn.initializers.normal(0.02), (1, u.shape[1], self.width))
        x = Block(self.heads, self.width)(x)
        return nn.Dense(1)(x)[..., 0]


def fields(rng, n, m=16):
    x = np.linspace(0, 2 * np.pi, m, endpoint=False)
    u = sum(rng.normal(size=(n, 1)) / k * np.sin(k * x + rng.uniform(0, 6.28, (n, 1))) for k in (1, 2, 3, 5))
    return u.astype(np.float32), (u * np.gradient(u, axis=1)).astype(np.float32)


ap = argparse.ArgumentParser()
ap.add_argument("--heads", type=int)
ap.add_argument("--width", type=int)
ap.add_argument("--steps", type=int, default=120)
ap.add_argument("--out")
args = ap.parse_args()
rng = np.random.default_rng(0)
model = Closure(args.heads, args.width)
params = model.init(jax.random.PRNGKey(0), jnp.zeros((1, 16)))
tx = optax.adamw(optax.cosine_decay_schedule(3e-3, args.steps))
state = tx.init(params)


@jax.jit
def update(params, state, u, tau):
    loss, g = jax.value_and_grad(lambda p: ((model.apply(p, u) - tau) ** 2).mean())(params)
    upd, state = tx.update(g, state, params)
    return optax.apply_updates(params, upd), state, loss


losses = []
for step in range(1, args.steps + 1):
    params, state, loss = update(params, state, *fields(rng, 32))
    losses.append(float(loss))
    time.sleep(0.07)
    if step % 10 == 0:
        print(f"h{args.heads}/w{args.width} step {step:4d}/{args.steps} loss {np.mean(losses[-10:]):.4f}")
json.dump({"heads": args.heads, "width": args.width, "loss": float(np.mean(losses[-20:]))}, open(args.out, "w"))
print(f"h{args.heads}/w{args.width} finished, loss {np.mean(losses[-20:]):.4f}")
