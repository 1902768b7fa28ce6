import sys
import time

import lightgbm as lgb
import numpy as np
import optuna
from sklearn.metrics import roc_auc_score

optuna.logging.get_logger("optuna").propagate = False


def fold(k):
    with np.load(f"scratch/folds/fold{k}.npz") as z:
        return z["X"], z["y"]


def objective(trial):
    params = dict(
        objective="binary", verbose=-1, num_threads=1, seed=1,
        learning_rate=trial.suggest_float("learning_rate", 0.02, 0.3, log=True),
        num_leaves=trial.suggest_int("num_leaves", 4, 31),
        min_data_in_leaf=trial.suggest_int("min_data_in_leaf", 5, 60),
        feature_fraction=trial.suggest_float("feature_fraction", 0.4, 1.0),
    )
    scores = []
    for k in range(3):
        Xv, yv = fold(k)
        rest = [fold(j) for j in range(3) if j != k]
        X = np.concatenate([r[0] for r in rest])
        y = np.concatenate([r[1] for r in rest])
        m = lgb.train(params, lgb.Dataset(X, y), 25, callbacks=[lambda env: time.sleep(0.02)])
        scores.append(roc_auc_score(yv, m.predict(Xv)))
        trial.report(float(np.mean(scores)), k)
    return float(np.mean(scores))


study = optuna.create_study(
    study_name="churn-lgbm", direction="maximize",
    sampler=optuna.samplers.TPESampler(seed=int(sys.argv[2]) if len(sys.argv) > 2 else 0),
)
study.optimize(objective, n_trials=int(sys.argv[1]), catch=(Exception,),
               callbacks=[lambda s, t: time.sleep(0.5)])
print("best", study.best_value, study.best_params)
