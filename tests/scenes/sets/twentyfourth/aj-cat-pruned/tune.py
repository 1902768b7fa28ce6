"""CatBoost settings by optuna: most trials are pruned early, impossible ones are refused; that is how it saves time."""
import time
from pathlib import Path

import numpy as np
import optuna
from catboost import CatBoostRegressor, Pool

TRIALS, ITERATIONS = 26, 14


def table(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 10))
    return Pool(x, np.abs(x[:, 0]) + x[:, 1] * (x[:, 2] > 0) + 0.2 * rng.normal(size=n))


TRAIN, VALID = table(800, 0), table(400, 1)
BUDGET = 2000  # leaves a model may have, for the scoring service


class Report:
    def __init__(self, trial):
        self.trial, self.pruned = trial, False

    def after_iteration(self, info):
        time.sleep(0.45)
        rmse = info.metrics["validation"]["RMSE"][-1]
        self.trial.report(rmse, info.iteration)
        self.pruned = self.trial.should_prune()
        return not self.pruned


def objective(trial):
    depth = trial.suggest_int("depth", 2, 8)
    rate = trial.suggest_float("learning_rate", 0.02, 0.9, log=True)
    leaves = ITERATIONS * 2**depth
    if leaves > BUDGET:
        raise ValueError(f"{leaves} leaves are over the budget of {BUDGET} (depth {depth})")
    model = CatBoostRegressor(iterations=ITERATIONS, depth=depth, learning_rate=rate, thread_count=1, verbose=False, allow_writing_files=False)
    report = Report(trial)
    model.fit(TRAIN, eval_set=VALID, use_best_model=False, callbacks=[report])
    if report.pruned:
        raise optuna.TrialPruned()
    rmse = model.get_best_score()["validation"]["RMSE"]
    Path("models").mkdir(exist_ok=True)
    model.save_model(f"models/trial_{trial.number:02d}.cbm")
    return rmse


if __name__ == "__main__":
    study = optuna.create_study(storage="sqlite:///tune.db", study_name="cat", sampler=optuna.samplers.TPESampler(seed=5),
                                pruner=optuna.pruners.MedianPruner(n_startup_trials=3, n_warmup_steps=4))
    study.optimize(objective, n_trials=TRIALS, catch=(ValueError,))
    states = [t.state.name for t in study.trials]
    print({s: states.count(s) for s in sorted(set(states))}, f"best {study.best_value:.4f} {study.best_params}", flush=True)
