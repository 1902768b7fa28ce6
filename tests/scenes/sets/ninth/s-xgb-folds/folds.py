import os
import time

os.environ["OMP_NUM_THREADS"] = "1"
import numpy as np
import xgboost as xgb
from sklearn.model_selection import KFold


class Pause(xgb.callback.TrainingCallback):
    def after_iteration(self, model, epoch, evals_log):
        time.sleep(0.16)
        return False


rng = np.random.default_rng(10)
x = rng.uniform(-1, 1, size=(2000, 12)).astype(np.float32)
y = np.sin(3 * x[:, 0]) + x[:, 1] ** 2 - x[:, 2] * x[:, 3] + rng.normal(scale=0.15, size=len(x))
params = dict(objective="reg:squarederror", eta=0.25, max_depth=4, subsample=0.8, nthread=1, seed=0)
scores = []
for k, (a, b) in enumerate(KFold(5, shuffle=True, random_state=0).split(x), 1):
    print(f"--- fold {k}/5 ({len(a)} train, {len(b)} valid)")
    booster = xgb.train(
        params, xgb.DMatrix(x[a], y[a]), 60,
        evals=[(xgb.DMatrix(x[b], y[b]), "valid")],
        early_stopping_rounds=8, verbose_eval=10, callbacks=[Pause()],
    )
    scores.append(booster.best_score)
    booster.save_model(f"fold{k}.json")
    print(f"fold {k}: best iteration {booster.best_iteration}, rmse {booster.best_score:.4f}")
print(f"cv rmse {np.mean(scores):.4f} +- {np.std(scores):.4f}")
