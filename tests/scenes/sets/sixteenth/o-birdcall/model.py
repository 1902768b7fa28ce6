import flax.linen as nn
import jax
import jax.numpy as jnp


class Spotter(nn.Module):
    species: int = 12

    @nn.compact
    def __call__(self, mel):
        x = nn.Conv(16, (5,))(mel)
        x = nn.relu(x)
        x = nn.Conv(16, (5,))(x)
        x = nn.relu(x).mean(axis=1)
        return nn.Dense(self.species)(x)


def clips(key, n, species=12):
    """Log-mel of synthetic calls: each species sweeps through its own bands."""
    k1, k2 = jax.random.split(key)
    y = jax.random.randint(k1, (n,), 0, species)
    mel = jax.random.normal(k2, (n, 40, 24))
    band = jnp.arange(24)[None, None, :]
    sweep = (y[:, None, None] * 2 + jnp.arange(40)[None, :, None] // 20) % 24
    return mel + 2.0 * jnp.exp(-((band - sweep) ** 2) / 2.0), y
