import time

import numpy as np
import xgboost as xgb
from sklearn.metrics import classification_report
from sklearn.model_selection import StratifiedKFold


class Tempo(xgb.callback.TrainingCallback):
    def after_iteration(self, model, epoch, evals_log):
        time.sleep(0.1)
        return False


def customers(n=4000, seed=3):
    r = np.random.default_rng(seed)
    x = np.column_stack([r.gamma(2, 12, n), r.normal(60, 25, n), r.integers(0, 3, n), r.poisson(1.5, n), r.normal(size=(n, 8))])
    z = -0.06 * x[:, 0] + 0.02 * x[:, 1] + 0.7 * x[:, 3] - 1.6 + 0.5 * x[:, 4] * x[:, 5]
    return x, (r.random(n) < 1 / (1 + np.exp(-z))).astype(int)


def main():
    x, y = customers()
    print(f"{len(x)} customers, {y.mean():.1%} churned", flush=True)
    params = {"objective": "binary:logistic", "eval_metric": ["logloss", "auc"], "eta": 0.05, "max_depth": 3, "min_child_weight": 8,
              "subsample": 0.8, "colsample_bytree": 0.7, "lambda": 3, "nthread": 1, "seed": 1}
    out, scores = np.zeros(len(x)), []
    for fold, (a, b) in enumerate(StratifiedKFold(4, shuffle=True, random_state=0).split(x, y), 1):
        print(f"--- fold {fold}/4 ---", flush=True)
        d, dv = xgb.DMatrix(x[a], y[a]), xgb.DMatrix(x[b], y[b])
        bst = xgb.train(params, d, 110, evals=[(d, "train"), (dv, "valid")], verbose_eval=10, callbacks=[Tempo()])
        out[b] = bst.predict(dv)
        scores.append(float(bst.eval(dv).split("auc:")[1]))
        bst.save_model(f"churn_fold{fold}.json")
    print("auc per fold:", " ".join(f"{s:.4f}" for s in scores))
    print(classification_report(y, out > 0.5, target_names=["stays", "leaves"]))


if __name__ == "__main__":
    main()
