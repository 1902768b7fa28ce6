"""PINN für die viskose Burgers-Gleichung, zwei Phasen (Adam, dann SGD mit Impuls)."""
import logging
import time

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s: %(message)s")
log = logging.getLogger("pinn")
logging.getLogger("jax").setLevel(logging.WARNING)


class ResiduumUngueltig(ArithmeticError):
    """Das Residuum der Gleichung ist keine Zahl mehr."""


class Netz(nn.Module):
    @nn.compact
    def __call__(self, z):
        for _ in range(3):
            z = nn.tanh(nn.Dense(24)(z))
        return nn.Dense(1)(z)[..., 0]


NU = 0.02
netz = Netz()
params = netz.init(jax.random.PRNGKey(1), jnp.zeros((1, 2)))


def u(p, x, t):
    return netz.apply(p, jnp.stack([x, t]))


def verlust(p, xt, x0):
    f = lambda x, t: u(p, x, t)
    ux = jax.grad(f, 0)
    res = lambda x, t: jax.grad(f, 1)(x, t) + f(x, t) * ux(x, t) - NU * jax.grad(ux, 0)(x, t)
    r = jnp.mean(jax.vmap(res)(xt[:, 0], xt[:, 1]) ** 2)
    a = jnp.mean((jax.vmap(lambda x: f(x, 0.0))(x0) + jnp.sin(jnp.pi * x0)) ** 2)
    b = jnp.mean(jax.vmap(lambda t: f(1.0, t) ** 2 + f(-1.0, t) ** 2)(xt[:, 1]))
    return r + 5 * a + b, (r, a)


def schritt(opt):
    @jax.jit
    def f(p, s, xt, x0):
        (l, teile), g = jax.value_and_grad(verlust, has_aux=True)(p, xt, x0)
        du, s = opt.update(g, s, p)
        return optax.apply_updates(p, du), s, l, teile
    return f


rng = np.random.default_rng(0)
PHASEN = [("Adam", optax.adam(3e-3), 260), ("SGD mit Impuls", optax.sgd(0.4, momentum=0.9, nesterov=True), 400)]
n = 0
for name, opt, dauer in PHASEN:
    log.info("Phase %s, %d Schritte", name, dauer)
    st, f = opt.init(params), schritt(opt)
    for _ in range(dauer):
        n += 1
        xt = jnp.asarray(np.stack([rng.uniform(-1, 1, 128), rng.uniform(0, 1, 128)], 1), jnp.float32)
        x0 = jnp.asarray(rng.uniform(-1, 1, 64), jnp.float32)
        params, st, l, (r, a) = f(params, st, xt, x0)
        if n % 10 == 0 or name != "Adam":
            log.info("Schritt %d Verlust %.4e Residuum %.4e Anfangswert %.4e", n, l, r, a)
        if not jnp.isfinite(r):
            raise ResiduumUngueltig(f"Residuum in Schritt {n} nicht endlich (Phase {name}, zuletzt Verlust {float(l)})")
        if n % 100 == 0:
            np.savez(f"stand_{n}.npz", *jax.tree.leaves(params))
            log.info("Stand %d gesichert", n)
        time.sleep(0.22)
log.info("fertig")
