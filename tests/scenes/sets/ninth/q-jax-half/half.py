import logging
import os
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn
from flax.training.dynamic_scale import DynamicScale
from flax.training.train_state import TrainState

logging.basicConfig(level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s")
log = logging.getLogger("half")
logging.getLogger("jax").setLevel(logging.ERROR)


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = x.astype(jnp.float16)
        for w in (64, 64):
            x = nn.relu(nn.Dense(w, dtype=jnp.float16)(x))
        return nn.Dense(1, dtype=jnp.float16)(x)[:, 0]


@jax.jit
def step(state, scale, x, y):
    def loss_fn(p):
        return ((state.apply_fn(p, x).astype(jnp.float32) - y) ** 2).mean()
    scale, finite, loss, grads = scale.value_and_grad(loss_fn)(state.params)
    new = state.apply_gradients(grads=grads)
    keep = lambda a, b: jnp.where(finite, a, b)
    new = new.replace(params=jax.tree.map(keep, new.params, state.params),
                      opt_state=jax.tree.map(keep, new.opt_state, state.opt_state))
    return new, scale, loss, finite


def main(steps=420):
    r = np.random.default_rng(0)
    w = r.normal(size=(16,))
    net = Net()
    params = jax.jit(net.init)(jax.random.key(1), jnp.zeros((1, 16)))
    state = TrainState.create(apply_fn=net.apply, params=params, tx=optax.adam(2e-3))
    scale = DynamicScale(growth_interval=25, scale=jnp.float32(2.0 ** 18))
    skipped, mean = 0, None
    for n in range(1, steps + 1):
        x = r.normal(size=(64, 16)).astype("f4")
        y = (0.4 * x @ w + np.sin(2 * x[:, 0])).astype("f4")
        before = float(scale.scale)
        state, scale, loss, finite = step(state, scale, x, y)
        time.sleep(0.1)
        if not bool(finite):
            skipped += 1
            log.warning("step %d: gradients are not finite (inf/nan), step skipped, loss scale %g -> %g", n, before, float(scale.scale))
        mean = float(loss) if mean is None else 0.95 * mean + 0.05 * float(loss)
        if n % 10 == 0:
            log.info("step %d/%d loss %.4f loss_scale %g skipped %d", n, steps, mean, float(scale.scale), skipped)
    log.info("finished, %d of %d steps skipped", skipped, steps)


if __name__ == "__main__":
    main()
