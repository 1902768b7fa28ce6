import time

import optuna
import pandas as pd
import xgboost as xgb
from sklearn.metrics import roc_auc_score


class Pace(xgb.callback.TrainingCallback):
    def after_iteration(self, model, epoch, evals_log):
        time.sleep(0.05)
        return False


def objective(trial):
    d = pd.read_csv("features.csv")
    x, y = d.drop(columns="default"), d["default"]
    dtr, dva = xgb.DMatrix(x[:1100], y[:1100]), xgb.DMatrix(x[1100:], y[1100:])
    params = {
        "objective": "binary:logistic", "nthread": 1, "eval_metric": "logloss",
        "eta": trial.suggest_float("eta", 0.01, 0.3, log=True),
        "max_depth": trial.suggest_int("max_depth", 2, 5),
        "min_child_weight": trial.suggest_float("min_child_weight", 1, 20),
    }
    booster = xgb.train(params, dtr, 50, evals=[(dva, "valid")], verbose_eval=25, callbacks=[Pace()])
    return roc_auc_score(y[1100:], booster.predict(dva))


study = optuna.create_study(study_name="pd_model_q4", storage="sqlite:///sweep.db", direction="maximize",
                            sampler=optuna.samplers.TPESampler(seed=1), load_if_exists=True)
for _ in range(400):
    began = time.time()
    study.optimize(objective, n_trials=1, catch=(Exception,))
    time.sleep(max(0.0, 2.0 - (time.time() - began)))  # the scheduler of the desk gives a slot every 2 s
print(study.best_value, study.best_params)
