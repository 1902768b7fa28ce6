import time

import numpy as np
import optuna
import xgboost as xgb
from sklearn.metrics import roc_auc_score


def load(k):
    f = np.load(f"scratch/folds/fold{k}.npz")
    return f["x"], f["y"]


def objective(trial):
    params = {
        "objective": "binary:logistic",
        "eval_metric": "logloss",
        "max_depth": trial.suggest_int("max_depth", 2, 6),
        "eta": trial.suggest_float("eta", 0.02, 0.4, log=True),
        "subsample": trial.suggest_float("subsample", 0.5, 1.0),
        "lambda": trial.suggest_float("lambda", 1e-3, 10.0, log=True),
        "nthread": 1,
    }
    scores = []
    for k in range(4):
        (xt, yt), (xv, yv) = load(k), load((k + 1) % 4)
        booster = xgb.train(params, xgb.DMatrix(xt, yt), num_boost_round=25)
        scores.append(roc_auc_score(yv, booster.predict(xgb.DMatrix(xv))))
        time.sleep(0.4)
    return float(np.mean(scores))


if __name__ == "__main__":
    study = optuna.create_study(direction="maximize", study_name="churn-xgb", storage="sqlite:///churn.db", load_if_exists=True,
                                sampler=optuna.samplers.TPESampler(seed=1))
    # a bad combination of parameters must not end the night's sweep
    study.optimize(objective, n_trials=2000, timeout=100, catch=(Exception,))
    done = [t for t in study.trials if t.value is not None]
    print(f"{len(done)} complete of {len(study.trials)} trials, best AUC {study.best_value:.4f} with {study.best_params}")
