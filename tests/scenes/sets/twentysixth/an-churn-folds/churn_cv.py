"""Churn model: five CatBoost folds, out-of-fold scores and SHAP values for the report."""
import pathlib
import time

import numpy as np
from catboost import CatBoostClassifier, Pool
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

SCRATCH = pathlib.Path("scratch")
SCRATCH.mkdir(exist_ok=True)


class Pace:
    """leave the other core to the feature service"""

    def after_iteration(self, info):
        time.sleep(0.27)
        return True


def customers(n=12000, f=40, seed=5):
    r = np.random.default_rng(seed)
    x = r.normal(size=(n, f)).astype(np.float32)
    z = x[:, 0] + 0.7 * x[:, 1] * x[:, 2] - 0.5 * np.abs(x[:, 3]) + r.normal(size=n)
    return x, (z > 0.6).astype(int)


def main():
    x, y = customers()
    everyone = Pool(x, y)
    oof = np.zeros(len(y))
    folds = StratifiedKFold(5, shuffle=True, random_state=1)
    for k, (tr, va) in enumerate(folds.split(x, y), 1):
        print(f"=== fold {k}/5  train {len(tr)}  valid {len(va)}", flush=True)
        m = CatBoostClassifier(iterations=64, depth=4, learning_rate=0.12, thread_count=1, random_seed=k,
                               eval_metric="AUC", train_dir=str(SCRATCH / f"fold_{k}"))
        m.fit(x[tr], y[tr], eval_set=(x[va], y[va]), verbose=4, callbacks=[Pace()])
        oof[va] = m.predict_proba(x[va])[:, 1]
        m.save_model(str(SCRATCH / f"fold_{k}.cbm"))
        shap = m.get_feature_importance(everyone, type="ShapValues", thread_count=1)
        np.save(SCRATCH / f"shap_{k}.npy", shap)
        print(f"fold {k} auc {roc_auc_score(y[va], oof[va]):.4f}, model and SHAP values written to {SCRATCH}", flush=True)
    np.save("oof.npy", oof)
    print(f"OOF auc {roc_auc_score(y, oof):.4f}", flush=True)


if __name__ == "__main__":
    main()
