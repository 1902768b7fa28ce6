import sys
import time
import warnings

import numpy as np
import optuna
from sklearn.datasets import make_regression
from sklearn.linear_model import SGDRegressor
from sklearn.preprocessing import StandardScaler

warnings.simplefilter("once")
X, y = make_regression(5000, 25, n_informative=15, noise=25.0, random_state=1)
X, y = StandardScaler().fit_transform(X), (y - y.mean()) / y.std()
Xt, yt, Xv, yv = X[:4000], y[:4000], X[4000:], y[4000:]


def objective(trial):
    m = SGDRegressor(
        loss=trial.suggest_categorical("loss", ["squared_error", "huber"]),
        alpha=trial.suggest_float("alpha", 1e-7, 1e-1, log=True),
        eta0=trial.suggest_float("eta0", 1e-6, 0.5, log=True),
        learning_rate="constant", random_state=0)
    for epoch in range(10):
        m.partial_fit(Xt, yt)
        time.sleep(0.4)
        mse = float(np.mean((m.predict(Xv) - yv) ** 2))
        if not mse < 1e3:              # eta0 too large for this loss: the trial counts as failed
            raise ValueError(f"diverged, mse={mse:.3g}")
        trial.report(mse, epoch)
        if trial.should_prune():
            raise optuna.TrialPruned()
    return mse


study = optuna.create_study(direction="minimize", sampler=optuna.samplers.TPESampler(seed=7, n_startup_trials=25),
                            pruner=optuna.pruners.MedianPruner(n_startup_trials=4, n_warmup_steps=2))
study.optimize(objective, n_trials=50, catch=(ValueError,))
n = {s.name: sum(t.state == s for t in study.trials) for s in optuna.trial.TrialState}
print("states:", n)
print("best:", study.best_value, study.best_params)
