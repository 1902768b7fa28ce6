"""Rare-fault classifier, one booster a machine type; few rows, so most stop early."""
import os
import time

import lightgbm as lgb
import numpy as np

os.makedirs("boosters", exist_ok=True)
rng = np.random.default_rng(4)
print("machine types: 16", flush=True)
for kind in range(1, 17):
    n = int(rng.integers(60, 400))
    X = rng.normal(size=(n, 12))
    y = (X[:, 0] + 0.5 * X[:, 1] + rng.normal(0, 0.6, n) > 1.1).astype(int)
    cut = int(n * 0.7)
    d = lgb.Dataset(X[:cut], y[:cut])
    params = {"objective": "binary", "metric": "binary_logloss", "num_leaves": 31, "min_data_in_leaf": 20, "learning_rate": 0.2,
              "num_threads": 1, "verbosity": 1}
    print(f"--- type {kind:02d}: {n} rows, {y.sum()} faults", flush=True)
    b = lgb.train(params, d, 60, valid_sets=[lgb.Dataset(X[cut:], y[cut:], reference=d)], valid_names=["valid"],
                  callbacks=[lgb.early_stopping(8), lgb.log_evaluation(5), lambda env: time.sleep(0.3)])
    b.save_model(f"boosters/type_{kind:02d}.txt")
    print(f"type {kind:02d} kept {b.best_iteration} trees, logloss {b.best_score['valid']['binary_logloss']:.4f}", flush=True)
    time.sleep(0.5)
print("all boosters written", flush=True)
