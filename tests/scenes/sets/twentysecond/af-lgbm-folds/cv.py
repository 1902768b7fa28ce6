"""Repeated cross validation of a churn model; keeps each fold's leaf embeddings for the stacker."""
import json
import os
import resource
import time

import lightgbm as lgb
import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import RepeatedStratifiedKFold

X, y = make_classification(2500, 25, n_informative=10, flip_y=0.1, random_state=7)
ROWS = np.vstack([X] * 16)          # the whole customer base the stacker will need
print(f"rows {len(X)}, scoring {len(ROWS)}, 5 x 6 folds", flush=True)
leaves = []
os.makedirs("folds", exist_ok=True)
for k, (tr, te) in enumerate(RepeatedStratifiedKFold(n_splits=5, n_repeats=6, random_state=0).split(X, y), 1):
    def pause(env):
        time.sleep(0.12)
        if (env.iteration + 1) % 10 == 0:
            print(f"  fold {k} iter {env.iteration + 1} valid auc {env.evaluation_result_list[0][2]:.4f}", flush=True)
    clf = lgb.LGBMClassifier(n_estimators=30, num_leaves=15, n_jobs=1, verbose=-1)
    clf.fit(X[tr], y[tr], eval_set=[(X[te], y[te])], eval_metric="auc", callbacks=[pause])
    leaf = clf.predict(ROWS, pred_leaf=True)
    onehot = np.zeros((len(ROWS), 30 * 15), np.float32)
    onehot[np.arange(len(ROWS))[:, None], np.arange(30) * 15 + leaf] = 1
    leaves.append(onehot)
    clf.booster_.save_model(f"folds/fold_{k:02d}.txt")
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps({"fold": k, "auc": round(clf.best_score_["valid_0"]["auc"], 4), "kept": len(leaves), "rss_mb": rss}), flush=True)
print("mean leaf matrix", np.mean([m.mean() for m in leaves]))
