"""Alternating least squares in NumPy."""
import os
import time

import numpy as np

PAUSE = float(os.environ.get("PAUSE", "1"))
a = np.load("plays.npy")
u, i, m = a[:, 0].astype(int), a[:, 1].astype(int), a[:, 2]
cut = int(len(a) * 0.9)
mu = m[:cut].mean()
r = np.random.default_rng(0)
P, Q = r.normal(0, 0.1, (300, 8)), r.normal(0, 0.1, (200, 8))


def solve(A, B, rows, cols):
    for k in range(len(A)):
        s = rows[:cut] == k
        X = B[cols[:cut][s]]
        A[k] = np.linalg.solve(X.T @ X + 4.0 * np.eye(8), X.T @ (m[:cut][s] - mu))


def rmse(s):
    return float(np.sqrt(np.mean((m[s] - mu - (P[u[s]] * Q[i[s]]).sum(1)) ** 2)))


for sweep in range(1, 91):
    solve(P, Q, u, i)
    solve(Q, P, i, u)
    print(f"als sweep {sweep}/90 train_rmse {rmse(slice(cut)):.4f} test_rmse {rmse(slice(cut, None)):.4f}", flush=True)
    time.sleep(PAUSE * 1.1)
np.savez(f"factors_{int(time.time())}.npz", P=P, Q=Q)
print("als: wrote factors", flush=True)
