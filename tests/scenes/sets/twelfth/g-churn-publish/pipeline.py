import sys
import time
from datetime import datetime

import numpy as np
import xgboost as xgb
from publish import publish


def say(level, event, **kv):
    print(f"{datetime.now():%Y-%m-%d %H:%M:%S} [{level:<8}] {event:<28} " + " ".join(f"{k}={v}" for k, v in kv.items()), flush=True)


class Log(xgb.callback.TrainingCallback):
    def after_iteration(self, model, epoch, evals_log):
        time.sleep(0.4)
        if epoch % 4 == 0:
            say("info", "boosting", round=epoch, train=round(evals_log["train"]["logloss"][-1], 5), valid=round(evals_log["valid"]["logloss"][-1], 5))
        return False


def main():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(3000, 12))
    y = (x[:, 0] * x[:, 1] + x[:, 2] + rng.normal(size=3000) * 0.4 > 0).astype(int)
    train, valid = xgb.DMatrix(x[:2400], y[:2400]), xgb.DMatrix(x[2400:], y[2400:])
    say("info", "data_loaded", rows=3000, columns=12)
    params = {"objective": "binary:logistic", "eval_metric": "logloss", "max_depth": 3, "eta": 0.1, "nthread": 1}
    booster = xgb.train(params, train, 100, evals=[(train, "train"), (valid, "valid")], callbacks=[Log()], verbose_eval=False)
    # the pod has no volume of its own; the registry is the only place where the model is kept
    raw = booster.save_raw("ubj")
    say("info", "training_done", rounds=100, bytes=len(raw))
    publish(raw, "churn", say)
    say("info", "published", name="churn")


if __name__ == "__main__":
    sys.exit(main())
