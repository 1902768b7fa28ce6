import argparse
import time

import numpy as np
import xgboost as xgb


class Wait(xgb.callback.TrainingCallback):
    def after_iteration(self, model, epoch, evals_log):
        time.sleep(0.35)
        return False


p = argparse.ArgumentParser()
p.add_argument("--data", required=True)
p.add_argument("--out", required=True)
a = p.parse_args()
d = np.load(a.data)
x, y = d["x"], d["y"]
tr, va = slice(0, 2000), slice(2000, 2500)
dtrain, dvalid = xgb.DMatrix(x[tr], y[tr]), xgb.DMatrix(x[va], y[va])
params = {"objective": "binary:logistic", "eval_metric": ["logloss", "auc"], "max_depth": 4, "eta": 0.06, "subsample": 0.8, "nthread": 1, "seed": 1}
booster = xgb.train(
    params, dtrain, num_boost_round=400, evals=[(dtrain, "train"), (dvalid, "valid")],
    early_stopping_rounds=25, verbose_eval=5, callbacks=[Wait()],
)
print(f"best iteration {booster.best_iteration}, valid auc {booster.best_score:.4f}")
booster.save_model(a.out)
