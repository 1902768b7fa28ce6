"""Gradient boosting for quantiles, histogram trees in numpy."""
import os
import pickle
import time

import numpy as np

PAUSE = float(os.environ.get("PAUSE", "0.17"))
rng = np.random.default_rng(17)
N, FEATURES, BINS, DEPTH, LR = 6000, 12, 32, 3, 0.08
X = rng.normal(size=(N, FEATURES))
y = 2 * np.sin(X[:, 0]) + X[:, 1] * (X[:, 2] > 0) + 0.5 * X[:, 3] + rng.gamma(1.5, 0.6, N) * (1 + (X[:, 4] > 0.5))
edges = np.quantile(X, np.linspace(0, 1, BINS + 1)[1:-1], axis=0)
B = np.stack([np.searchsorted(edges[:, j], X[:, j]) for j in range(FEATURES)], 1)
tr, va = np.arange(0, 2200), np.arange(2200, N)


def pinball(y, p, q):
    d = y - p
    return np.maximum(q * d, (q - 1) * d).mean()


def grow(rows, g, res, q, depth):
    if depth == 0 or len(rows) < 60:
        return np.quantile(res[rows], q)
    best = (0.0, None, None)
    total, n = g[rows].sum(), len(rows)
    for j in rng.choice(FEATURES, 8, replace=False):
        s = np.cumsum(np.bincount(B[rows, j], g[rows], BINS))[:-1]
        c = np.cumsum(np.bincount(B[rows, j], minlength=BINS))[:-1]
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = np.where((c > 25) & (n - c > 25), s**2 / c + (total - s) ** 2 / (n - c) - total**2 / n, 0)
        k = int(gain.argmax())
        if gain[k] > best[0]:
            best = (gain[k], j, k)
    if best[1] is None:
        return np.quantile(res[rows], q)
    left = B[rows, best[1]] <= best[2]
    return best[1], best[2], grow(rows[left], g, res, q, depth - 1), grow(rows[~left], g, res, q, depth - 1)


def predict(tree, rows):
    if not isinstance(tree, tuple):
        return np.full(len(rows), tree)
    out, left = np.empty(len(rows)), B[rows, tree[0]] <= tree[1]
    out[left], out[~left] = predict(tree[2], rows[left]), predict(tree[3], rows[~left])
    return out


for q in (0.1, 0.5, 0.9):
    print(f"[LightBoost] [Info] Total Bins {FEATURES * BINS}, number of data points in the train set: {len(tr)}, number of used features: {FEATURES}")
    print(f"[LightBoost] [Info] objective quantile alpha={q}")
    print("Training until validation scores don't improve for 60 rounds", flush=True)
    pt, pv = np.full(len(tr), np.quantile(y[tr], q)), np.full(len(va), np.quantile(y[tr], q))
    trees, best, score = [], 0, np.inf
    for it in range(1, 451):
        bag = rng.choice(tr, len(tr) // 2, replace=False)
        res = np.zeros(N)
        res[tr] = y[tr] - pt
        tree = grow(bag, np.where(res > 0, q, q - 1), res, q, DEPTH)
        trees.append(tree)
        pt, pv = pt + LR * predict(tree, tr), pv + LR * predict(tree, va)
        v = pinball(y[va], pv, q)
        time.sleep(PAUSE)
        if v < score:
            best, score = it, v
        if it % 5 == 0:
            print(f"[{it}]\ttraining's quantile: {pinball(y[tr], pt, q):.6f}\tvalid_1's quantile: {v:.6f}", flush=True)
        if it - best >= 60:
            print(f"Early stopping, best iteration is:\n[{best}]\tvalid_1's quantile: {score:.6f}", flush=True)
            break
    else:
        print(f"Did not meet early stopping. Best iteration is:\n[{best}]\tvalid_1's quantile: {score:.6f}", flush=True)
    with open(f"model_q{int(q * 100)}.pkl", "wb") as f:
        pickle.dump(trees[:best], f)
print("3 models written", flush=True)
