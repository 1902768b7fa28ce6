"""A2C on a tracking task, 8 environments, episodes of 480 steps, rollouts of 16."""
import time
from collections import deque

import jax
import jax.numpy as jnp
import numpy as np
import optax
from tqdm import tqdm

ENVS, HORIZON, T, OBS, UPDATES = 8, 480, 16, 4, 330
rng = np.random.default_rng(2)


def init(key):
    k = jax.random.split(key, 3)
    return dict(w1=jax.random.normal(k[0], (OBS, 32)) * 0.4, b1=jnp.zeros(32),
                pi=jax.random.normal(k[1], (32, 3)) * 0.05, v=jax.random.normal(k[2], (32, 1)) * 0.05)


@jax.jit
def forward(p, x):
    h = jnp.tanh(x @ p["w1"] + p["b1"])
    return h @ p["pi"], (h @ p["v"])[..., 0]


def loss_fn(p, x, a, ret):
    logits, v = forward(p, x)
    lp = jax.nn.log_softmax(logits)
    adv = ret - jax.lax.stop_gradient(v)
    adv = (adv - adv.mean()) / (adv.std() + 1e-6)
    pg = -(jnp.take_along_axis(lp, a[..., None], -1)[..., 0] * adv).mean()
    ent = -(jnp.exp(lp) * lp).sum(-1).mean()
    return pg + 0.5 * ((ret - v) ** 2).mean() - 0.01 * ent, (pg, ent)


tx = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(3e-3))
params = init(jax.random.PRNGKey(0))
opt = tx.init(params)


@jax.jit
def update(p, o, x, a, ret):
    (l, aux), g = jax.value_and_grad(loss_fn, has_aux=True)(p, x, a, ret)
    u, o = tx.update(g, o)
    return optax.apply_updates(p, u), o, l, aux


def reset(n):
    return np.stack([rng.normal(0, 1, n), np.zeros(n), rng.normal(0, 1, n), np.zeros(n)], 1)


s, t_ep, ep = reset(ENVS), np.arange(ENVS) * -17, np.zeros(ENVS)
done_returns, recent = deque(maxlen=20), None
bar = tqdm(range(1, UPDATES + 1), desc="a2c", mininterval=1.0, ncols=110)
for n in bar:
    X, A, R = [], [], []
    for _ in range(T):
        p = np.asarray(jax.nn.softmax(forward(params, s)[0]))
        a = (p.cumsum(1) > rng.random((ENVS, 1))).argmax(1)
        X.append(s.copy()), A.append(a)
        s[:, 1] = 0.8 * s[:, 1] + 0.25 * (a - 1)
        s[:, 0] += s[:, 1]
        s[:, 2] = 0.97 * s[:, 2] + rng.normal(0, 0.12, ENVS)
        s[:, 3] = s[:, 2] - s[:, 0]
        r = -np.minimum(np.abs(s[:, 3]), 3.0)
        s[:, 0] = s[:, 0].clip(-4, 4)
        R.append(r)
        ep, t_ep = ep + r, t_ep + 1
        for i in np.flatnonzero(t_ep >= HORIZON):
            done_returns.append(ep[i])
            s[i], t_ep[i], ep[i] = reset(1)[0], 0, 0.0
    ret, G = [], np.asarray(forward(params, s)[1])
    for r in R[::-1]:
        G = r + 0.9 * G
        ret.append(G)
    params, opt, l, (pg, ent) = update(params, opt, np.stack(X), np.stack(A), np.stack(ret[::-1]))
    time.sleep(0.28)
    bar.set_postfix(loss=f"{float(l):.3f}", ent=f"{float(ent):.2f}")
    if n % 5 == 0:
        tqdm.write(f"update {n:4d}  frames {n * T * ENVS:6d}  loss {float(l):8.4f}  pg {float(pg):+.4f}  "
                   f"entropy {float(ent):.3f}  mean_ep_return {np.mean(done_returns):.1f}  episodes {len(done_returns)}")
    if n % 60 == 0:
        np.savez(f"a2c_{n}.npz", **{k: np.asarray(v) for k, v in params.items()})
        tqdm.write(f"saved a2c_{n}.npz")
print("finished")
