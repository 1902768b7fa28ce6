import flax.linen as nn
import jax.numpy as jnp


class TideNet(nn.Module):
    width: int = 32

    @nn.compact
    def __call__(self, x):
        h = nn.gelu(nn.Dense(self.width)(x))
        h = nn.gelu(nn.Dense(self.width)(h))
        return nn.Dense(1)(h)[..., 0]


def series(t):
    """Height of the water in metres at hour t."""
    return jnp.sin(t * 0.506) + 0.4 * jnp.sin(t * 0.524 + 1.0) + 0.2 * jnp.sin(t * 0.262)
