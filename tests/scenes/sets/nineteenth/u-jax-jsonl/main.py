import argparse, glob, json, os, pickle, time
import jax, jax.numpy as jnp, numpy as np, optax
p = argparse.ArgumentParser(); p.add_argument("--config"); c = json.load(open(p.parse_args().config))
def log(**k): print(json.dumps({"ts": round(time.time(), 2), **k}))
log(event="start", jax=jax.__version__, devices=[str(d) for d in jax.devices()], config=c)
k = jax.random.split(jax.random.PRNGKey(c["seed"]), 4); w = c["width"]
P = {"i": jax.random.normal(k[0], (16, w)) / 4, "l": jax.random.normal(k[1], (c["depth"], w, w)) / w ** .5, "o": jax.random.normal(k[2], (w, 1)) / w ** .5}
def f(P, x):
    h = x @ P["i"]
    h, _ = jax.lax.scan(lambda h, W: (h + jnp.tanh(h @ W) / 3, None), h, P["l"])
    return (h @ P["o"])[:, 0]
loss = lambda P, x, y: jnp.mean((f(P, x) - y) ** 2)
tx = optax.chain(optax.clip_by_global_norm(1.), optax.adamw(optax.warmup_cosine_decay_schedule(0., c["lr"], c["warmup"], c["steps"]))); S = tx.init(P)
@jax.jit
def step(P, S, x, y):
    l, g = jax.value_and_grad(loss)(P, x, y); u, S = tx.update(g, S, P); return optax.apply_updates(P, u), S, l, optax.global_norm(g)
ev = jax.jit(loss); rng = np.random.default_rng(c["seed"])
def batch(n): x = rng.normal(size=(n, 16)).astype("float32"); return x, np.sin(x[:, 0]) + x[:, 1] * x[:, 2] / 2
t = time.time()
for s in range(1, c["steps"] + 1):
    P, S, l, g = step(P, S, *batch(c["batch"]))
    if s == 1: l.block_until_ready(); log(event="compiled", seconds=round(time.time() - t, 2))
    time.sleep(.12)
    if s % c["log_every"] == 0: log(step=s, loss=round(float(l), 5), grad_norm=round(float(g), 4))
    if s % c["eval_every"] == 0:
        log(step=s, event="eval", val_loss=round(float(np.mean([ev(P, *batch(256)) for _ in range(10)])), 5))
        pickle.dump(jax.tree.map(np.asarray, P), open(f"params_{s:05d}.pkl", "wb"))
        for old in sorted(glob.glob("params_*.pkl"))[:-c["keep"]]: os.remove(old); log(event="removed", file=old)
log(event="end", steps=s)
