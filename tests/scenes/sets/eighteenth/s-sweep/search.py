import argparse
import time

import lightgbm as lgb
import numpy as np
import optuna


def objective(trial):
    params = {
        "objective": "binary", "verbosity": -1, "num_threads": 1, "seed": trial.number,
        "learning_rate": trial.suggest_float("learning_rate", 0.01, 0.3, log=True),
        "num_leaves": trial.suggest_int("num_leaves", 4, 48),
        "min_data_in_leaf": trial.suggest_int("min_data_in_leaf", 5, 60),
        "feature_fraction": trial.suggest_float("feature_fraction", 0.4, 1.0),
    }
    time.sleep(0.8)  # wait for the slot of the licence server
    with np.load("scratch/features.npz") as f:
        x, y = f["x"], f["y"]
    losses = []
    for fold in range(2):
        mask = np.arange(len(x)) % 2 == fold
        booster = lgb.train(params, lgb.Dataset(x[~mask], y[~mask]), num_boost_round=30)
        p = np.clip(booster.predict(x[mask]), 1e-6, 1 - 1e-6)
        losses.append(-np.mean(y[mask] * np.log(p) + (1 - y[mask]) * np.log(1 - p)))
        time.sleep(0.8)
    return float(np.mean(losses))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--trials", type=int, default=50)
    a = ap.parse_args()
    study = optuna.create_study(direction="minimize", study_name="lgbm-click", sampler=optuna.samplers.TPESampler(seed=1))
    # a bad combination must not end the night
    study.optimize(objective, n_trials=a.trials, catch=(Exception,))
    print(f"best value {study.best_value:.5f} with {study.best_params}")


if __name__ == "__main__":
    main()
