"""Hyperparameter search for the yield surrogate; each trial reads the feature file anew, as the workers do."""
import time

import numpy as np
import optuna
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPRegressor


def objective(trial):
    with np.load("features.npz") as z:
        X, y = z["X"], z["y"]
    lr = trial.suggest_float("lr", 1e-4, 1e-2, log=True)
    width = trial.suggest_int("width", 8, 64)
    alpha = trial.suggest_float("alpha", 1e-6, 1e-1, log=True)
    Xa, Xb, ya, yb = train_test_split((X - X.mean(0)) / X.std(0), (y - y.mean()) / y.std(), random_state=0)
    net = MLPRegressor(hidden_layer_sizes=(width,), learning_rate_init=lr, alpha=alpha, random_state=0)
    for _ in range(12):
        net.partial_fit(Xa, ya)
        time.sleep(0.25)
    return float(np.mean((net.predict(Xb) - yb) ** 2))


study = optuna.create_study(study_name="yield-surrogate", storage="sqlite:///study.db", load_if_exists=True,
                            sampler=optuna.samplers.TPESampler(seed=1))
# a single bad configuration must not end the night's search
study.optimize(objective, n_trials=400, timeout=150, catch=(Exception,), callbacks=[lambda s, t: time.sleep(0.8)])
print("best", study.best_value, study.best_params)
