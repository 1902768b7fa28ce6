"""Credit default, xgboost under optuna with pruning."""
import time

import numpy as np
import optuna
import xgboost as xgb
from pruning import Report
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

X, y = make_classification(2500, 20, n_informative=7, weights=[0.85], flip_y=0.05, random_state=2)
xa, xb, ya, yb = train_test_split(X, y, random_state=1)
da, db = xgb.DMatrix(xa, ya), xgb.DMatrix(xb, yb)


def objective(trial):
    p = {"objective": "binary:logistic", "eval_metric": "auc", "subsample": trial.suggest_float("subsample", 0.5, 1.05),
         "max_depth": trial.suggest_int("max_depth", 2, 7), "eta": trial.suggest_float("eta", 0.02, 0.4, log=True), "nthread": 1}
    res = {}
    xgb.train(p, da, 30, [(db, "val")], evals_result=res, verbose_eval=False, callbacks=[Report(trial)])
    return max(res["val"]["auc"])


study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=7),
                            pruner=optuna.pruners.MedianPruner(n_startup_trials=4, n_warmup_steps=8))
study.optimize(objective, n_trials=48, catch=(xgb.core.XGBoostError,))
n = {s.name: sum(t.state == s for t in study.trials) for s in optuna.trial.TrialState}
print("trials", n, flush=True)
best = xgb.train({**study.best_params, "eval_metric": "auc", "nthread": 1}, da, 30, [(db, "val")])
best.save_model("best.ubj")
print(f"best auc {study.best_value:.4f} {study.best_params}", flush=True)
