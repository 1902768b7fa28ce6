import argparse
import time

import lightgbm as lgb
import numpy as np
import optuna
from sklearn.metrics import log_loss


def objective(trial: optuna.Trial) -> float:
    params = {
        "objective": "binary",
        "verbosity": -1,
        "num_threads": 1,
        "learning_rate": trial.suggest_float("learning_rate", 0.01, 0.3, log=True),
        "num_leaves": trial.suggest_int("num_leaves", 4, 48),
        "min_child_samples": trial.suggest_int("min_child_samples", 5, 60),
        "lambda_l2": trial.suggest_float("lambda_l2", 1e-3, 10.0, log=True),
    }
    x, y = np.load("data/train_x.npy"), np.load("data/train_y.npy")
    booster = lgb.train(params, lgb.Dataset(x, y), num_boost_round=40, callbacks=[lambda env: time.sleep(0.1)])
    hx, hy = np.load("data/holdout_x.npy"), np.load("data/holdout_y.npy")
    return log_loss(hy, booster.predict(hx))


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--trials", type=int)
    a = p.parse_args()
    study = optuna.create_study(direction="minimize", sampler=optuna.samplers.TPESampler(seed=1), study_name="lgb-holdout")
    study.optimize(objective, n_trials=a.trials, catch=(ValueError, lgb.basic.LightGBMError))
    print(f"best logloss {study.best_value:.4f} with {study.best_params}")
