"""映画評価の行列分解（確率的勾配法、numpy だけ）"""
import os
import sys
import time

import numpy as np

PACE = float(os.environ.get("PACE", "0.7"))
rng = np.random.default_rng(12)
U, M, K = 600, 300, 8
P0, Q0 = rng.normal(0, 0.5, (U, 5)), rng.normal(0, 0.5, (M, 5))
bu0, bm0 = rng.normal(0, 0.3, U), rng.normal(0, 0.4, M)
n = 16000
u, m = rng.integers(U, size=n), rng.integers(M, size=n)
y = np.clip(3.4 + bu0[u] + bm0[m] + (P0[u] * Q0[m]).sum(1) + rng.normal(0, 0.6, n), 0.5, 5)
cut = n * 9 // 10
P, Q = rng.normal(0, 0.05, (U, K)), rng.normal(0, 0.05, (M, K))
bu, bm, mu = np.zeros(U), np.zeros(M), y[:cut].mean()


def pred(i, j):
    return mu + bu[i] + bm[j] + (P[i] * Q[j]).sum(1)


print(f"利用者 {U} 人、映画 {M} 本、評価 {n} 件", flush=True)
best, lr = 9.0, 0.02
for ep in range(1, 401):
    o = rng.permutation(cut)
    se = 0.0
    for k in range(0, cut, 64):
        b = o[k:k + 64]
        i, j = u[b], m[b]
        e = y[b] - pred(i, j)
        se += (e ** 2).sum()
        p, q = P[i].copy(), Q[j].copy()
        np.add.at(bu, i, lr * (e - 0.05 * bu[i]))
        np.add.at(bm, j, lr * (e - 0.05 * bm[j]))
        np.add.at(P, i, lr * (e[:, None] * q - 0.08 * p))
        np.add.at(Q, j, lr * (e[:, None] * p - 0.08 * q))
    te = np.sqrt(((y[cut:] - pred(u[cut:], m[cut:])) ** 2).mean())
    mark = ""
    if te < best:
        best, mark = te, " *最良*"
        np.savez("mf_best.npz", P=P, Q=Q, bu=bu, bm=bm)
    print(f"エポック {ep:3d}: 訓練RMSE {np.sqrt(se / cut):.4f} 検証RMSE {te:.4f} 学習率 {lr:.4f}{mark}", flush=True)
    if ep % 80 == 0:
        lr /= 2
    time.sleep(PACE)
print(f"終了。最良の検証RMSE {best:.4f}", flush=True)
