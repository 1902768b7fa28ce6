import time

import pandas as pd
import xgboost as xgb

frame = pd.read_parquet("train.parquet")
y = frame.pop("label")
cut = 4000
dtrain = xgb.DMatrix(frame[:cut], y[:cut])
dvalid = xgb.DMatrix(frame[cut:], y[cut:])


class Pace(xgb.callback.TrainingCallback):
    def after_iteration(self, model, epoch, evals_log):
        time.sleep(0.2)
        return False


params = {"objective": "binary:logistic", "eval_metric": ["logloss", "aucpr"], "eta": 0.08, "max_depth": 4, "nthread": 1}
booster = xgb.train(params, dtrain, 120, [(dtrain, "train"), (dvalid, "valid")], verbose_eval=10, callbacks=[Pace()])
booster.save_model("fraud.json")
print("saved fraud.json", flush=True)
