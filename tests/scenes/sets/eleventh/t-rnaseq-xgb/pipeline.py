import argparse, csv, time
import numpy as np
import xgboost as xgb
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.metrics import roc_auc_score, average_precision_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

ap = argparse.ArgumentParser()
ap.add_argument("--counts"); ap.add_argument("--report")
ap.add_argument("--folds", type=int, default=5); ap.add_argument("--rounds", type=int, default=60)
a = ap.parse_args()


class Pace(xgb.callback.TrainingCallback):
    def after_iteration(self, model, epoch, evals_log):
        time.sleep(0.12)
        return False


z = np.load(a.counts)
cpm = z["counts"] / z["counts"].sum(1, keepdims=True) * 1e6
X, y = np.log2(cpm + 1), z["y"]
print(f"log2-CPM matrix {X.shape}, prevalence {y.mean():.2f}")
rows = []
for k, (tr, te) in enumerate(StratifiedKFold(a.folds, shuffle=True, random_state=0).split(X, y), 1):
    print(f"== fold {k}/{a.folds}: {len(tr)} train, {len(te)} held out")
    sc = StandardScaler().fit(X[tr])
    sel = SelectKBest(f_classif, k=60).fit(sc.transform(X[tr]), y[tr])
    f = lambda i: sel.transform(sc.transform(X[i]))
    dtr, dte = xgb.DMatrix(f(tr), y[tr]), xgb.DMatrix(f(te), y[te])
    par = dict(objective="binary:logistic", eta=0.1, max_depth=3, subsample=0.8, colsample_bytree=0.6, eval_metric=["logloss", "auc"], nthread=1, seed=k)
    bst = xgb.train(par, dtr, a.rounds, evals=[(dtr, "train"), (dte, "heldout")], verbose_eval=10, callbacks=[Pace()])
    bst.save_model(f"results/fold{k}.json")
    p = bst.predict(dte)
    rows.append((k, roc_auc_score(y[te], p), average_precision_score(y[te], p)))
    print(f"   fold {k}: AUROC {rows[-1][1]:.3f}  AUPRC {rows[-1][2]:.3f}")
with open(a.report, "w", newline="") as fh:
    w = csv.writer(fh, delimiter="\t")
    w.writerow(["fold", "auroc", "auprc"])
    w.writerows((k, f"{r:.4f}", f"{q:.4f}") for k, r, q in rows)
au = np.array([r[1] for r in rows])
print(f"AUROC {au.mean():.3f} +- {au.std(ddof=1):.3f}; wrote {a.report}")
