"""Fit N pseudo-Voigt peaks and a background to a powder pattern (Adam, then a polish by L-BFGS)."""
import os
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
import time
import jax, jax.numpy as jnp
import numpy as np
import optax

N = 5
rng = np.random.default_rng(42)
tth = np.linspace(20, 80, 900)
centre = np.array([27.4, 36.1, 41.2, 54.3, 69.0])
height = np.array([900, 450, 120, 600, 210.0])
width = np.array([0.5, 0.6, 0.7, 0.8, 1.0])
truth = sum(h * (0.4 / (1 + ((tth - c) / w) ** 2) + 0.6 * np.exp(-np.log(2) * ((tth - c) / w) ** 2)) for h, c, w in zip(height, centre, width))
counts = rng.poisson(truth + 60 - 0.3 * (tth - 50))
x, y = jnp.asarray(tth, jnp.float32), jnp.asarray(counts, jnp.float32)
sig = jnp.sqrt(y + 1)


def model(p):
    w = jnp.exp(p["logw"])[:, None]
    u = (x[None] - p["c"][:, None]) / w
    eta = jax.nn.sigmoid(p["eta"])[:, None]
    shape = eta / (1 + u**2) + (1 - eta) * jnp.exp(-jnp.log(2.0) * u**2)
    return (jnp.exp(p["logh"])[:, None] * shape).sum(0) + 100 * p["b0"] + p["b1"] * (x - 50)


def chi2(p):
    return jnp.sum(((model(p) - y) / sig) ** 2) / (x.size - 5 * N)


p = dict(c=jnp.asarray(centre + rng.normal(0, 0.4, N), jnp.float32), logw=jnp.zeros(N), logh=jnp.log(jnp.full(N, 300.0)), eta=jnp.zeros(N), b0=jnp.array(0.5), b1=jnp.array(0.0))
opt = optax.adam(optax.cosine_decay_schedule(0.03, 700))
state = opt.init(p)


@jax.jit
def step(p, s):
    v, g = jax.value_and_grad(chi2)(p)
    up, s = opt.update(g, s, p)
    return optax.apply_updates(p, up), s, v


print("   iter    chi2/ndf   |  positions")
t0 = time.time()
for i in range(701):
    p, state, v = step(p, state)
    time.sleep(0.045)
    if i % 25 == 0:
        print(f"  {i:5d}  {float(v):10.4f}   | " + "  ".join(f"{float(c):6.2f}" for c in p["c"]), flush=True)
    if i % 200 == 0:
        np.savez("fit_state.npz", **{k: np.asarray(q) for k, q in p.items()})
print("# polishing with L-BFGS")
lb = optax.lbfgs()
ls = lb.init(p)
vg = jax.jit(optax.value_and_grad_from_state(chi2))


@jax.jit
def polish(p, s):
    v, g = vg(p, state=s)
    up, s = lb.update(g, s, p, value=v, grad=g, value_fn=chi2)
    return optax.apply_updates(p, up), s, v


for i in range(20):
    p, ls, v = polish(p, ls)
    time.sleep(0.1)
print(f"  final  {float(v):10.4f}   | " + "  ".join(f"{float(c):6.2f}" for c in p["c"]))
print("fwhm: ", np.round(2 * np.exp(np.asarray(p["logw"])), 3), f" ({time.time() - t0:.0f} s)")
np.savez("fit_result.npz", **{k: np.asarray(q) for k, q in p.items()})
