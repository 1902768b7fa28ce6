"""Stochastic gradient Langevin dynamics for a Bayesian logistic regression (plain numpy)."""
import argparse
import json
import time

import numpy as np

a = argparse.ArgumentParser()
a.add_argument("--temperature", type=float, default=1.0)
a.add_argument("--seed", type=int, default=0)
a.add_argument("--iters", type=int, default=400)
a.add_argument("--out", required=True)
a = a.parse_args()
rng = np.random.default_rng(a.seed)
truth = np.random.default_rng(99).normal(size=12)
X = rng.normal(size=(2000, 12))
y = (rng.random(2000) < 1 / (1 + np.exp(-X @ truth))).astype(float)


def nll(w, X, y):
    z = X @ w
    return float(np.mean(np.logaddexp(0, z) - y * z))


w, kept = np.zeros(12), []
for i in range(1, a.iters + 1):
    b = rng.integers(0, 1600, 64)
    eps = 2e-3 / (1 + i / 100) ** 0.55
    grad = X[b].T @ (y[b] - 1 / (1 + np.exp(-X[b] @ w))) * 1600 / 64 - w
    w = w + 0.5 * eps * grad + np.sqrt(eps * a.temperature) * rng.normal(size=12)
    if i > a.iters // 2:
        kept.append(w.copy())
    time.sleep(0.03)
    if i % 50 == 0:
        print(f"iter={i} nll={nll(w, X[:1600], y[:1600]):.4f} test={nll(w, X[1600:], y[1600:]):.4f}")
mean = np.mean(kept, 0)
with open(a.out, "w") as f:
    json.dump({"T": a.temperature, "seed": a.seed, "test_nll": nll(mean, X[1600:], y[1600:])}, f)
print(f"posterior mean test nll {nll(mean, X[1600:], y[1600:]):.4f}")
