"""Advantage actor-critic in JAX on the foraging task, four animals at once."""
import time

import jax
import jax.numpy as jnp
import numpy as np
import optax
from foraging import Foraging

N, T, UPDATES = 4, 50, 110


def init(key, h=24):
    k = jax.random.split(key, 3)
    return {"w": 0.5 * jax.random.normal(k[0], (3, h)), "b": jnp.zeros(h), "pi": 0.1 * jax.random.normal(k[1], (h, 2)), "v": jnp.zeros((h, 1))}


def net(p, o):
    h = jnp.tanh(o @ p["w"] + p["b"])
    return h @ p["pi"], (h @ p["v"])[..., 0]


forward = jax.jit(net)
opt = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(5e-3))


@jax.jit
def update(p, s, o, a, ret):
    def loss(p):
        logits, v = net(p, o)
        lp = jax.nn.log_softmax(logits)
        adv = ret - v
        ent = -(jnp.exp(lp) * lp).sum(-1).mean()
        pg = -(jnp.take_along_axis(lp, a[..., None], -1)[..., 0] * jax.lax.stop_gradient(adv)).mean()
        return pg + 0.5 * (adv**2).mean() - 0.01 * ent, (pg, ent)
    (_, aux), g = jax.value_and_grad(loss, has_aux=True)(p)
    u, s = opt.update(g, s)
    return optax.apply_updates(p, u), s, aux


envs = [Foraging() for _ in range(N)]
obs = np.stack([e.reset(seed=i)[0] for i, e in enumerate(envs)])
rng, p = np.random.default_rng(0), init(jax.random.PRNGKey(1))
s, running, t0 = opt.init(p), np.zeros(N), time.time()
for n in range(1, UPDATES + 1):
    os_, as_, rs, ended = [], [], [], []
    for _ in range(T):
        logits = np.asarray(forward(p, obs)[0])
        prob = 1 / (1 + np.exp(logits[:, 0] - logits[:, 1]))
        act = (rng.random(N) < prob).astype(int)
        os_.append(obs.copy()), as_.append(act)
        r = np.zeros(N)
        for i, e in enumerate(envs):
            obs[i], r[i], _, over, _ = e.step(act[i])
            running[i] += r[i]
            if over:
                ended.append(running[i])
                running[i] = 0
                obs[i] = e.reset()[0]
        rs.append(r)
    ret, acc = np.zeros((T, N)), np.asarray(forward(p, obs)[1])
    for t in reversed(range(T)):
        acc = rs[t] + 0.95 * acc
        ret[t] = acc
    p, s, (pg, ent) = update(p, s, np.stack(os_), np.stack(as_), ret)
    time.sleep(0.4)
    print(f"update={n} env_steps={n * N * T} ep_return={np.mean(ended):.2f} policy_loss={pg:.4f} entropy={ent:.3f} t={time.time() - t0:.1f}s", flush=True)
np.savez("agent.npz", **p)
print("saved agent.npz")
