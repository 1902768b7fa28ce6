"""Hyperparameters of the churn model; hopeless trials are pruned; not every linear updater knows every selector."""
import time

import numpy as np
import optuna
import xgboost as xgb
from sklearn.metrics import log_loss

rng = np.random.default_rng(3)
x = rng.normal(size=(1500, 10))
y = (x[:, 0] * x[:, 1] + 0.6 * x[:, 4] + 0.6 * rng.normal(size=1500) > 0.4).astype(int)
dtrain = xgb.DMatrix(x[:1000], y[:1000])
dvalid = xgb.DMatrix(x[1000:], y[1000:])


def objective(trial):
    params = {"objective": "binary:logistic", "nthread": 1, "verbosity": 1, "eta": trial.suggest_float("eta", 0.005, 0.9, log=True)}
    params["booster"] = trial.suggest_categorical("booster", ["gbtree", "gbtree_dart", "gblinear"]).replace("gbtree_dart", "dart")
    if params["booster"] == "gblinear":
        params["updater"] = trial.suggest_categorical("updater", ["coord_descent", "shotgun"])
        params["feature_selector"] = trial.suggest_categorical("feature_selector", ["cyclic", "shuffle", "thrifty"])
    else:
        params["max_depth"] = trial.suggest_int("max_depth", 1, 7)
        params["subsample"] = trial.suggest_float("subsample", 0.2, 1.0)
    trial.set_user_attr("params", params)
    booster = None
    for block in range(10):
        booster = xgb.train(params, dtrain, 4, xgb_model=booster)
        score = log_loss(y[1000:], booster.predict(dvalid))
        trial.report(score, block)
        time.sleep(0.22)
        if trial.should_prune():
            raise optuna.TrialPruned()
    return score


study = optuna.create_study(
    study_name="churn", storage="sqlite:///churn.db", direction="minimize", sampler=optuna.samplers.RandomSampler(seed=2),
    pruner=optuna.pruners.MedianPruner(n_startup_trials=4, n_warmup_steps=2),
)
study.optimize(objective, n_trials=36, catch=(xgb.core.XGBoostError,))
states = [t.state.name for t in study.trials]
print({s: states.count(s) for s in set(states)})
print("best", round(study.best_value, 4), study.best_params)
final = xgb.train({"objective": "binary:logistic", "nthread": 1, **study.best_trial.user_attrs["params"]}, dtrain, 60, evals=[(dvalid, "valid")], verbose_eval=10)
final.save_model("churn.ubj")
