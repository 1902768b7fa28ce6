"""Time-marching PINN for u' = -k u + sin(wt): the time window is made longer step by step."""
import json
import pickle
import time

import jax
import jax.numpy as jnp
import numpy as np
import optax

K, W = 1.5, 6.0
sizes = [1, 24, 24, 1]
keys = jax.random.split(jax.random.PRNGKey(2), len(sizes))
params = [(jax.random.normal(k, (a, b)) / np.sqrt(a), jnp.zeros(b)) for k, a, b in zip(keys, sizes, sizes[1:])]
tx = optax.adam(4e-3)
opt = tx.init(params)


def u(p, t):
    h = jnp.array([t])
    for w, b in p[:-1]:
        h = jnp.tanh(h @ w + b)
    return 1.0 + t * (h @ p[-1][0] + p[-1][1])[0]


def loss(p, ts):
    f = jax.vmap(lambda t: jax.grad(u, 1)(p, t) + K * u(p, t) - jnp.sin(W * t))(ts)
    return jnp.mean(f ** 2)


@jax.jit
def many(p, o, ts):
    def one(c, _):
        p, o = c
        l, g = jax.value_and_grad(loss)(p, ts)
        up, o = tx.update(g, o)
        return (optax.apply_updates(p, up), o), l
    (p, o), l = jax.lax.scan(one, (p, o), None, length=60)
    return p, o, l[-1]


out = open("solve.jsonl", "a", buffering=1)
step = 0
for window in (0.5, 1.0, 1.5, 2.0, 2.5):
    out.write(json.dumps({"event": "new_window", "t_max": window, "step": step}) + "\n")
    ts = jnp.linspace(0, window, 64)
    for _ in range(70):
        params, opt, l = many(params, opt, ts)
        step += 1
        out.write(json.dumps({"step": step, "t_max": window, "residual": float(f"{float(l):.4g}"), "ts": round(time.time(), 1)}) + "\n")
        time.sleep(0.35)
    pickle.dump(jax.device_get(params), open(f"window_{window}.pkl", "wb"))
    out.write(json.dumps({"event": "saved", "file": f"window_{window}.pkl"}) + "\n")
out.write(json.dumps({"event": "finished", "step": step}) + "\n")
