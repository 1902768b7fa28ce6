"""Online EM for a mixture of Gaussians, numpy only; the model is in mixture.npz after each pass."""
import argparse
import time

import numpy as np

ap = argparse.ArgumentParser()
ap.add_argument("--passes", type=int, default=3)
a = ap.parse_args()
rng = np.random.default_rng(6)
K, D, N, B = 12, 10, 31000, 200
true = rng.normal(size=(K, D)) * 3
data = true[rng.integers(0, K, N)] + rng.normal(size=(N, D))
mu, var, pi = data[rng.choice(N, K)].copy(), np.full(K, 4.0), np.full(K, 1 / K)
t = 0
for p in range(a.passes):
    order = rng.permutation(N)
    for i in range(0, N, B):
        x = data[order[i:i + B]]
        d2 = ((x[:, None] - mu) ** 2).sum(-1)
        ll = np.log(pi) - 0.5 * D * np.log(2 * np.pi * var) - 0.5 * d2 / var
        top = ll.max(1, keepdims=True)
        norm = top + np.log(np.exp(ll - top).sum(1, keepdims=True))
        r = np.exp(ll - norm)
        t += 1
        eta = (t + 4) ** -0.6
        n = r.sum(0) + 1e-6
        mu += eta * np.minimum(1, n / 10)[:, None] * ((r.T @ x) / n[:, None] - mu)
        var += eta * np.minimum(1, n / 10) * ((r * d2).sum(0) / (n * D) - var)
        pi = (1 - eta) * pi + eta * (n / n.sum())
        if t % 7 == 0:
            print(f"{t:>6} nll {-norm.mean():.4f} used {int((pi > 0.01).sum())}")
        time.sleep(0.12)
    np.savez("mixture.npz", mu=mu, var=var, pi=pi, t=t)
