"""Variational Monte Carlo: three bosons in a trap with attraction; the energy is negative and goes down."""
import time

import jax
import jax.numpy as jnp
import numpy as np
import optax

N, WALKERS, DEPTH = 3, 128, -6.0


def init(key, h=16):
    k1, k2 = jax.random.split(key)
    return {"w1": 0.3 * jax.random.normal(k1, (N, h)), "b1": jnp.zeros(h), "w2": 0.1 * jax.random.normal(k2, (h,)), "a": jnp.array(0.3)}


def log_psi(p, x):
    d2 = (x[:, None] - x[None]) ** 2
    s = jnp.stack([jnp.sum(x), jnp.exp(-d2).sum() - N, jnp.exp(-d2 / 4).sum() - N])  # symmetric and smooth
    return -p["a"] ** 2 * jnp.sum(x**2) + jnp.tanh(s @ p["w1"] + p["b1"]) @ p["w2"]


def local_energy(p, x):
    g = jax.grad(log_psi, 1)(p, x)
    lap = jnp.trace(jax.hessian(log_psi, 1)(p, x))
    d = x[:, None] - x[None]
    pot = 0.5 * jnp.sum(x**2) + 0.5 * DEPTH * (jnp.sum(jnp.exp(-(d**2))) - N)
    return -0.5 * (lap + g @ g) + pot


@jax.jit
def sample(p, x, key):
    lp = jax.vmap(log_psi, (None, 0))

    def hop(carry, k):
        x, n = carry
        k1, k2 = jax.random.split(k)
        y = x + 0.5 * jax.random.normal(k1, x.shape)
        ok = jnp.log(jax.random.uniform(k2, (WALKERS,))) < 2 * (lp(p, y) - lp(p, x))
        return (jnp.where(ok[:, None], y, x), n + ok.mean()), None
    (x, n), _ = jax.lax.scan(hop, (x, 0.0), jax.random.split(key, 15))
    return x, n / 15


opt = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(0.01))


@jax.jit
def update(p, s, x):
    e = jax.vmap(local_energy, (None, 0))(p, x)
    c = jnp.clip(e, jnp.median(e) - 10, jnp.median(e) + 10)
    g = jax.grad(lambda p: 2 * jnp.mean(jax.lax.stop_gradient(c - c.mean()) * jax.vmap(log_psi, (None, 0))(p, x)))(p)
    u, s = opt.update(g, s)
    return optax.apply_updates(p, u), s, e.mean(), e.var()


key = jax.random.PRNGKey(0)
p = init(key)
s = opt.init(p)
x = jax.random.normal(key, (WALKERS, N))
print(f"# {jax.devices()[0].platform}, {WALKERS} walkers, {N} particles, pair depth {DEPTH}")
print("#  iter      energy     +/-   variance  accept   secs")
t0 = time.time()
for it in range(1, 701):
    key, k = jax.random.split(key)
    x, acc = sample(p, x, k)
    p, s, e, var = update(p, s, x)
    time.sleep(0.06)
    if it % 10 == 0:
        print(f"{it:7d}  {e:10.4f}  {(var / WALKERS) ** 0.5:6.4f}  {var:9.4f}   {acc:.3f}  {time.time() - t0:6.1f}")
    if it % 200 == 0:
        np.savez("psi.npz", **p)
print(f"# final energy {e:.4f}, wave function in psi.npz")
