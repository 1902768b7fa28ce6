"""Pré-entraînement en deux paliers (jax). Le mélange et le pas d'apprentissage viennent de plan.json."""
import json
import pickle
import time

import jax
import jax.numpy as jnp
import numpy as np
import optax

V, L, B, D, H, N = 260, 20, 12, 48, 128, 3
rng = np.random.default_rng(12)
SUITE = {"prose": rng.integers(0, 130, (130, 3)), "code": 130 + rng.integers(0, 130, (130, 2))}


def lot(dom, n):
    s, base = SUITE[dom], 0 if dom == "prose" else 130
    x = np.empty((n, L), dtype=np.int32)
    x[:, 0] = base + rng.integers(0, 130, n)
    for t in range(1, L):
        x[:, t] = s[x[:, t - 1] - base, rng.integers(0, s.shape[1], n)]
    return x


def init(k):
    a, b, c = jax.random.split(k, 3)
    return {"e": jax.random.normal(a, (V, D)) * 0.1, "w1": jax.random.normal(b, (N * D, H)) / np.sqrt(N * D),
            "b1": jnp.zeros(H), "w2": jax.random.normal(c, (H, V)) * 0.05, "b2": jnp.zeros(V)}


def perte(p, x):
    e = p["e"][x]
    ctx = jnp.concatenate([e[:, i:L - N + i] for i in range(N)], -1)
    lg = jnp.tanh(ctx @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]
    return optax.softmax_cross_entropy_with_integer_labels(lg, x[:, N:]).mean()


plan = json.load(open("plan.json"))
p = init(jax.random.PRNGKey(0))
pas = 0
fixes = {d: lot(d, 60) for d in SUITE}
eval_fn = jax.jit(perte)
for pal in plan:
    if pal["palier"] > 1:
        print(f"--- palier {pal['palier']} : nouveau mélange {pal['melange']} comme prévu par plan.json ; la perte va remonter le temps d'apprendre le code", flush=True)
    opt = optax.adam(optax.warmup_cosine_decay_schedule(0.0, pal["lr"], 15, pal["pas"], 1e-4))
    etat = opt.init(p)

    @jax.jit
    def maj(p, etat, x):
        l, g = jax.value_and_grad(perte)(p, x)
        u, etat = opt.update(g, etat)
        return optax.apply_updates(p, u), etat, l

    for _ in range(pal["pas"]):
        pas += 1
        n = {d: int(round(B * f)) for d, f in pal["melange"].items()}
        x = np.concatenate([lot(d, k) for d, k in n.items() if k])
        p, etat, l = maj(p, etat, x)
        time.sleep(0.27)
        if pas % 10 == 0:
            print(f"[{time.strftime('%H:%M:%S')}] palier {pal['palier']} pas {pas:4d}  perte {float(l):.3f}", flush=True)
        if pas % 50 == 0:
            pickle.dump(jax.tree.map(np.asarray, p), open(f"poids_{pas}.pkl", "wb"))
            vus = [d for d in SUITE if d in pal["melange"]]
            print("    validation : " + "  ".join(f"{d} {float(eval_fn(p, fixes[d])):.3f}" for d in vus) + f"  (poids_{pas}.pkl)", flush=True)
print(f"fini après {pas} pas", flush=True)
