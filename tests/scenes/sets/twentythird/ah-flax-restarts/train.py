"""Two spirals with flax, cosine schedule with warm restarts (SGDR). JSON lines."""
import json
import time

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn


class MLP(nn.Module):
    @nn.compact
    def __call__(self, x):
        for w in (48, 48):
            x = nn.tanh(nn.Dense(w)(x))
        return nn.Dense(2)(x)


rng = np.random.default_rng(0)
t = rng.uniform(0.5, 3.2, 2000)
lab = rng.integers(0, 2, 2000)
X = np.stack([t * np.cos(3.2 * t + np.pi * lab), t * np.sin(3.2 * t + np.pi * lab)], 1) + 0.2 * rng.normal(size=(2000, 2))
lab = np.where(rng.random(2000) < 0.06, 1 - lab, lab)  # annotators err
X, lab = jnp.asarray(X, jnp.float32), jnp.asarray(lab)
CYCLE, STEPS = 100, 300
sched = optax.sgdr_schedule([{"init_value": 2e-3, "peak_value": 0.25, "warmup_steps": 3, "decay_steps": CYCLE,
                              "end_value": 1e-4}] * (STEPS // CYCLE))
net = MLP()
p = net.init(jax.random.PRNGKey(0), X[:1])
opt = optax.adam(sched)
s = opt.init(p)


@jax.jit
def step(p, s, x, y):
    f = lambda p: optax.softmax_cross_entropy_with_integer_labels(net.apply(p, x), y).mean()
    l, g = jax.value_and_grad(f)(p)
    u, s = opt.update(g, s, p)
    return optax.apply_updates(p, u), s, l


acc = jax.jit(lambda p: (net.apply(p, X[1600:]).argmax(1) == lab[1600:]).mean())
avg = []
for i in range(1, STEPS + 1):
    j = rng.integers(0, 1600, 128)
    p, s, l = step(p, s, X[j], lab[j])
    avg.append(float(l))
    if i % 4 == 0:
        print(json.dumps({"step": i, "of": STEPS, "loss": round(float(np.mean(avg[-4:])), 5), "lr": round(float(sched(i)), 6)}), flush=True)
    if i % 50 == 0:
        print(json.dumps({"step": i, "val_acc": round(float(acc(p)), 4)}), flush=True)
    if i % CYCLE == 0:
        np.savez(f"snapshot_{i // CYCLE}.npz", *jax.tree.leaves(p))
        print(json.dumps({"event": "cycle end, warm restart", "cycle": i // CYCLE}), flush=True)
    time.sleep(0.36)
print(json.dumps({"event": "finished"}), flush=True)
