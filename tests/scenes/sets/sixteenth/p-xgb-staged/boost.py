"""Staged margins for the calibration study (chapter 4)."""
import argparse
import time

import numpy as np
import xgboost as xgb


class Staged(xgb.callback.TrainingCallback):
    """Keep the margins of every round, for the plots."""

    def __init__(self, dm, n):
        self.dm, self.n, self.margins = dm, n, []

    def after_iteration(self, model, epoch, evals_log):
        m = model.predict(self.dm, output_margin=True, iteration_range=(0, epoch + 1))
        self.margins.append(np.repeat(m.astype("f8")[:, None], self.n, axis=1))
        time.sleep(0.6)
        return False


p = argparse.ArgumentParser()
p.add_argument("--rounds", type=int, default=300)
p.add_argument("--bootstrap", type=int, default=100)
a = p.parse_args()
g = np.random.default_rng(0)
X = g.normal(size=(8000, 10)).astype("f4")
y = X[:, 0] * 2 + np.sin(3 * X[:, 1]) + g.normal(0, 0.3, 8000)
dtr, dva = xgb.DMatrix(X[:6000], y[:6000]), xgb.DMatrix(X[6000:], y[6000:])
dall = xgb.DMatrix(X, y)
print("start boosting,", a.rounds, "rounds", flush=True)
staged = Staged(dall, a.bootstrap)
bst = xgb.train(
    {"max_depth": 4, "eta": 0.05, "nthread": 1, "objective": "reg:squarederror"},
    dtr, a.rounds, evals=[(dtr, "train"), (dva, "valid")], verbose_eval=5, callbacks=[staged],
)
np.save("margins.npy", np.stack(staged.margins))
bst.save_model("staged.ubj")
