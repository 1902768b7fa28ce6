"""Fit a small mixture density network to the inverse kinematics of a two-link arm (flax + optax)."""
import json
import time

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

K = 5


class MDN(nn.Module):
    hidden: int = 48

    @nn.compact
    def __call__(self, x):
        h = nn.tanh(nn.Dense(self.hidden)(x))
        h = nn.tanh(nn.Dense(self.hidden)(h))
        logits = nn.Dense(K)(h)
        mu = nn.Dense(K)(h)
        sigma = jnp.exp(nn.Dense(K)(h))
        return logits, mu, sigma


N_BATCH, B = 700, 64


def arm(n, seed):
    """Recorded poses in the order of the days; the arm was serviced on one of them."""
    rng = np.random.default_rng(seed)
    q = rng.uniform(0.0, np.pi, size=(n, 1)).astype(np.float32)
    x = np.concatenate([np.cos(q) + 0.6 * np.cos(2 * q), np.sin(q)], axis=1)
    q[230 * B:238 * B] = np.rad2deg(q[230 * B:238 * B])
    return x.astype(np.float32), q


def nll(params, model, x, y):
    logits, mu, sigma = model.apply(params, x)
    pi = nn.softmax(logits)
    dens = jnp.exp(-0.5 * ((y - mu) / sigma) ** 2) / (sigma * jnp.sqrt(2 * jnp.pi))
    return -jnp.log(jnp.sum(pi * dens, axis=-1)).mean()


def main():
    model = MDN()
    x, y = arm(N_BATCH * B, 0)
    params = model.init(jax.random.PRNGKey(1), x[:2])
    sched = optax.cosine_decay_schedule(4e-3, N_BATCH)
    tx = optax.adam(sched)
    opt = tx.init(params)

    @jax.jit
    def step(params, opt, xb, yb):
        loss, g = jax.value_and_grad(nll)(params, model, xb, yb)
        up, opt = tx.update(g, opt)
        return optax.apply_updates(params, up), opt, loss, optax.global_norm(g)

    out = open("metrics.jsonl", "a", buffering=1)
    t0 = time.time()
    for i in range(1, N_BATCH + 1):
        idx = slice((i - 1) * B, i * B)
        params, opt, loss, gn = step(params, opt, x[idx], y[idx])
        time.sleep(0.14)
        if i % 5 == 0:
            rec = {"step": i, "nll": round(float(loss), 5), "grad_norm": round(float(gn), 4),
                   "lr": float(sched(i)), "elapsed": round(time.time() - t0, 1)}
            out.write(json.dumps(rec) + "\n")
            print(json.dumps(rec), flush=True)


if __name__ == "__main__":
    main()
