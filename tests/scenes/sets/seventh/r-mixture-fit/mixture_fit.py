"""Gaussian mixture by EM in plain numpy, several starts, best one kept."""
import sys
import time
import warnings

import numpy as np


class ConvergenceWarning(UserWarning):
    pass


def make(n=3000, seed=0):
    r = np.random.default_rng(seed)
    mu = np.array([[0, 0], [4, 1], [-3, 3], [1, -4], [2, 2.2]])
    return np.concatenate([r.normal(m, 0.7 + 0.2 * k, size=(n // 5, 2)) for k, m in enumerate(mu)])


def em(x, k, seed, max_iter, tol):
    r = np.random.default_rng(seed)
    mu = x[r.choice(len(x), k, replace=False)]
    var = np.full(k, x.var())
    pi = np.full(k, 1 / k)
    old, t0 = -np.inf, time.time()
    for it in range(1, max_iter + 1):
        with np.errstate(divide="warn"):
            lp = np.log(pi) - np.log(2 * np.pi * var) - ((x[:, None] - mu) ** 2).sum(-1) / (2 * var)
        top = lp.max(1, keepdims=True)
        ll = (top[:, 0] + np.log(np.exp(lp - top).sum(1))).mean()
        resp = np.exp(lp - top)
        resp /= resp.sum(1, keepdims=True)
        w = resp.sum(0)
        w[w < 1e-8 * len(x)] = 0
        pi = w / len(x)
        safe = np.maximum(w, 1e-12)
        mu = resp.T @ x / safe[:, None]
        var = np.maximum((resp * ((x[:, None] - mu) ** 2).sum(-1)).sum(0) / (2 * safe), 1e-3)
        time.sleep(0.25)
        print(f"  Iteration {it}\t time lapse {time.time() - t0:.2f}s\t ll change {ll - old:.6f}", flush=True)
        if it > 1 and abs(ll - old) < tol:
            print(f"Initialization converged. Lower bound {ll:.5f}", flush=True)
            return ll
        old = ll
    warnings.warn("Initialization did not converge. Try different init parameters, or increase max_iter, tol or check for degenerate data.",
                  ConvergenceWarning, stacklevel=2)
    return ll


if __name__ == "__main__":
    data = make()
    best = -np.inf
    for s in range(8):
        print(f"Initialization {s}", flush=True)
        best = max(best, em(data, 5 if s % 2 else 7, s, max_iter=40, tol=3e-5))
    print(f"best lower bound {best:.5f}")
    np.save("mixture.npy", np.array([best]))
    sys.exit(0)
