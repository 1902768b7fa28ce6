# homework 4: matrix factorisation for the movie ratings, numpy only
import os
import time

import numpy as np

PACE = float(os.environ.get("PACE", 0.75))
rng = np.random.default_rng(0)
n_users, n_items, k = 18000, 4000, 32
print("loading ratings ...", flush=True)
tu, ti = rng.normal(0, 0.5, (n_users, 2)), rng.normal(0, 0.5, (n_items, 2))
tb, tc = rng.normal(0, 0.5, n_users), rng.normal(0, 0.4, n_items)
users = rng.integers(0, n_users, 250_000)
items = rng.integers(0, n_items, 250_000)
ratings = 3.5 + tb[users] + tc[items] + 0.3 * (tu[users] * ti[items]).sum(1) + rng.normal(0, 0.3, len(users))
test = rng.random(len(users)) < 0.1
P, Q = rng.normal(0, 0.02, (n_users, k)), rng.normal(0, 0.02, (n_items, k))
bu, bi, mu = np.zeros(n_users), np.zeros(n_items), ratings[~test].mean()
train_idx = np.flatnonzero(~test)
history = []  # for the animation in the report


def rmse(idx):
    u, i = users[idx], items[idx]
    return np.sqrt(np.mean((mu + bu[u] + bi[i] + (P[u] * Q[i]).sum(1) - ratings[idx]) ** 2))


test_idx = np.flatnonzero(test)[:8000]
for it in range(1, 601):
    idx = rng.choice(train_idx, 12000, replace=False)
    u, i = users[idx], items[idx]
    err = ratings[idx] - (mu + bu[u] + bi[i] + (P[u] * Q[i]).sum(1))
    lr, reg = 0.05, 0.1
    gu, gi = err[:, None] * Q[i] - reg * P[u], err[:, None] * P[u] - reg * Q[i]
    np.add.at(P, u, lr * gu)
    np.add.at(Q, i, lr * gi)
    np.add.at(bu, u, lr * err)
    np.add.at(bi, i, lr * 0.3 * err)
    history.append((P.copy(), Q.copy(), bu.copy(), bi.copy()))
    time.sleep(PACE)
    print("iteration", it, "train_rmse", round(float(np.sqrt((err ** 2).mean())), 4), "test_rmse", round(float(rmse(test_idx)), 4), flush=True)
np.savez("factors.npz", P=P, Q=Q)
