"""REINFORCE in jax on a vectorised grid world; long episodes, so the first updates see no finished one."""
import time

import jax
import jax.numpy as jnp
import numpy as np
import optax

SIZE, ENVS, HORIZON, LIMIT, UPDATES = 7, 32, 20, 90, 150
MOVES = jnp.array([[0, 1], [1, 0], [0, -1], [-1, 0]])
GOAL = jnp.array([SIZE - 1, SIZE - 1])


def logits(params, pos):
    x = jax.nn.one_hot(pos[:, 0] * SIZE + pos[:, 1], SIZE * SIZE)
    return jnp.tanh(x @ params["a"]) @ params["b"]


def rollout(params, pos, age, key):
    def tick(carry, k):
        pos, age = carry
        act = jax.random.categorical(k, logits(params, pos))
        new = jnp.clip(pos + MOVES[act], 0, SIZE - 1)
        age = age + 1
        won = jnp.all(new == GOAL, -1)
        done = won | (age >= LIMIT)
        out = (pos, act, jnp.where(won, 1.0, -0.01), done, won, age)
        return (jnp.where(done[:, None], 0, new), jnp.where(done, 0, age)), out

    (pos, age), traj = jax.lax.scan(tick, (pos, age), jax.random.split(key, HORIZON))
    return pos, age, traj


tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(0.02))


@jax.jit
def update(params, opt, pos, age, key):
    pos, age, (s, a, r, done, won, ages) = rollout(params, pos, age, key)

    def back(acc, x):
        r, d = x
        acc = r + 0.95 * acc * (1 - d)
        return acc, acc

    _, ret = jax.lax.scan(back, jnp.zeros(ENVS), (r, done.astype(float)), reverse=True)
    adv = (ret - ret.mean()) / (ret.std() + 1e-6)

    def loss_fn(p):
        lp = jax.nn.log_softmax(logits(p, s.reshape(-1, 2)))
        ent = -(jnp.exp(lp) * lp).sum(-1).mean()
        pg = -(jnp.take_along_axis(lp, a.reshape(-1, 1), 1)[:, 0] * adv.reshape(-1)).mean()
        return pg - 0.02 * ent, ent

    (loss, ent), grads = jax.value_and_grad(loss_fn, has_aux=True)(params)
    step, opt = tx.update(grads, opt)
    return optax.apply_updates(params, step), opt, pos, age, loss, ent, done, won, ages


key = jax.random.PRNGKey(0)
k1, k2, key = jax.random.split(key, 3)
params = {"a": 0.3 * jax.random.normal(k1, (SIZE * SIZE, 32)), "b": 0.3 * jax.random.normal(k2, (32, 4))}
opt, pos, age = tx.init(params), jnp.zeros((ENVS, 2), int), jnp.zeros(ENVS, int)
print("upd\tsteps\tloss\tentropy\tep_len\tsuccess\tsps", flush=True)
began = time.time()
for u in range(1, UPDATES + 1):
    key, k = jax.random.split(key)
    params, opt, pos, age, loss, ent, done, won, ages = update(params, opt, pos, age, k)
    done, won, ages = (np.asarray(v) for v in (done, won, ages))
    time.sleep(0.3)
    if u % 3 == 1:
        n = u * ENVS * HORIZON
        print(f"{u}\t{n}\t{float(loss):.4f}\t{float(ent):.4f}\t{ages[done & ~won | won].mean():.1f}\t"
              f"{won[done].mean():.3f}\t{n / (time.time() - began):.0f}", flush=True)
np.savez("policy.npz", **params)
print("saved policy.npz")
