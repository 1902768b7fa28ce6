import time
import numpy as np, xgboost as xgb
from sklearn.model_selection import KFold
rng = np.random.default_rng(0); X = rng.normal(size=(900, 10)); y = (X[:, 0] * X[:, 1] + .5 * rng.normal(size=900) > 0).astype(int)
class Slow(xgb.callback.TrainingCallback):
    def after_iteration(self, model, epoch, log): time.sleep(.09); return False
best = []
for k, (a, b) in enumerate(KFold(5, shuffle=True, random_state=1).split(X)):
    print(f"---------- fold {k} ({len(a)} train / {len(b)} valid) ----------")
    d, v = xgb.DMatrix(X[a], y[a]), xgb.DMatrix(X[b], y[b])
    m = xgb.train({"objective": "binary:logistic", "eta": .2, "max_depth": 4, "eval_metric": ["error", "logloss"], "nthread": 1}, d, 150, [(d, "train"), (v, "valid")], early_stopping_rounds=12, verbose_eval=4, callbacks=[Slow()])
    print("Stopping. Best iteration:", m.best_iteration, "score", round(m.best_score, 5)); best.append(m.best_score); m.save_model(f"fold{k}.json")
print(f"cv logloss {np.mean(best):.4f} +/- {np.std(best):.4f}")
