import argparse, time, xgboost as xgb
from features import load
a = argparse.ArgumentParser(); a.add_argument("--train", nargs="+"); a.add_argument("--out"); a = a.parse_args()
class Pace(xgb.callback.TrainingCallback):
    def after_iteration(self, model, epoch, evals_log):
        time.sleep(.25); return False
d = load(a.train)
print("fit:", d.num_row(), "rows,", d.feature_names)
b = xgb.train({"objective": "binary:logistic", "eval_metric": ["auc", "logloss"], "max_depth": 4, "eta": .05, "nthread": 1}, d, 100,
              evals=[(d, "train")], verbose_eval=5, callbacks=[Pace()])
b.save_model(a.out); print("fit: saved", a.out)
