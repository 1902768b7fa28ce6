"""Fit of the gamma-ray rate in sky pixels by 40 templates, Pearson chi2 (JAX)."""
import os
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["OMP_NUM_THREADS"] = "1"
import time
import jax, jax.numpy as jnp
import numpy as np
import optax

rng = np.random.default_rng(12)
NPIX, NT, EPOCHS = 1200, 40, 60
T = np.abs(rng.normal(size=(NPIX, NT))) * (rng.random((NPIX, NT)) < 0.25)
amp = rng.gamma(0.5, 0.7, NT)
rate = T @ amp + 0.02
n = rng.poisson(rate)
print(f"{NPIX} pixels, {int(n.sum())} photons, {(n == 0).mean():.1%} empty pixels")
T, n = jnp.asarray(T, jnp.float32), jnp.asarray(n, jnp.float32)


def chi2(p, t, k):
    mu = t @ p["amp"] + p["iso"]
    return jnp.mean(((k - mu) / jnp.sqrt(mu)) ** 2)


p = {"amp": jnp.full(NT, 0.6), "iso": jnp.array(0.3)}
opt = optax.sgd(optax.linear_schedule(1e-3, 3e-1, 600), momentum=0.9)
s = opt.init(p)


@jax.jit
def step(p, s, t, k):
    v, g = jax.value_and_grad(chi2)(p, t, k)
    u, s = opt.update(g, s)
    return optax.apply_updates(p, u), s, v, optax.global_norm(g)


t0 = time.time()
for ep in range(EPOCHS):
    vs, gs = [], []
    for idx in np.split(rng.permutation(NPIX), 12):
        p, s, v, g = step(p, s, T[idx], n[idx])
        vs.append(float(v)); gs.append(float(g))
        time.sleep(0.1)
    print(f"epoch {ep:3d}  chi2/n {np.mean(vs):.5f}  |grad| {np.mean(gs):.4f}  iso {float(p['iso']):.4f}  sum(amp) {float(p['amp'].sum()):.3f}  t {time.time() - t0:6.1f}s", flush=True)
    if ep % 10 == 9:
        np.savez(f"rate_{ep + 1:03d}.npz", **{k: np.asarray(q) for k, q in p.items()})
np.savez("rate_final.npz", **{k: np.asarray(q) for k, q in p.items()})
print("saved rate_final.npz")
