"""Churn tiers: tune LightGBM, then XGBoost, keep the better one."""
import json
import time
import warnings

import lightgbm as lgb
import numpy as np
import optuna
import xgboost as xgb
from sklearn.datasets import make_classification
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split

warnings.filterwarnings("ignore", category=FutureWarning)
X, y = make_classification(1500, 18, n_informative=8, n_classes=3, random_state=4)
tier = y + 1  # tiers 1, 2, 3 as in the customer table
xa, xb, ya, yb = train_test_split(X, tier, random_state=0)


def fit_lgb(trial):
    m = lgb.LGBMClassifier(n_estimators=40, num_leaves=trial.suggest_int("num_leaves", 4, 40), n_jobs=1, verbose=-1,
                           learning_rate=trial.suggest_float("learning_rate", 0.02, 0.3, log=True))
    m.fit(xa, ya, callbacks=[lambda env: time.sleep(0.06)])
    return f1_score(yb, m.predict(xb), average="macro")


class Pause(xgb.callback.TrainingCallback):
    def after_iteration(self, model, epoch, evals_log):
        time.sleep(0.06)
        return False


def fit_xgb(trial):
    time.sleep(0.8)  # cut the fold from the store
    m = xgb.XGBClassifier(n_estimators=40, max_depth=trial.suggest_int("max_depth", 2, 8), n_jobs=1, callbacks=[Pause()],
                          learning_rate=trial.suggest_float("learning_rate", 0.02, 0.3, log=True))
    m.fit(xa, ya)
    return f1_score(yb, m.predict(xb), average="macro")


best = {}
for name, fn, n in [("lightgbm", fit_lgb, 18), ("xgboost", fit_xgb, 40)]:
    print(f"== study {name}, {n} trials", flush=True)
    study = optuna.create_study(study_name=name, direction="maximize", sampler=optuna.samplers.TPESampler(seed=1))
    study.optimize(fn, n_trials=n, catch=(Exception,))
    best[name] = {"f1": study.best_value, **study.best_params}
    json.dump(best, open(f"best_{name}.json", "w"))
    print(f"== {name} best f1 {study.best_value:.4f}", flush=True)
