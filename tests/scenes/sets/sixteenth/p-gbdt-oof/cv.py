"""Kreuzvalidierung für das Bodenfeuchte-Paper. Aufruf: cv.py lgb|cat"""
import sys
import time

import numpy as np
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import KFold

art = sys.argv[1]
g = np.random.default_rng(12)
X = g.uniform(-1, 1, (2500, 8))
y = np.sin(4 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * g.normal(size=2500)
oof = np.zeros(len(y))
t0 = time.time()


def lgb_modell(tr, va):
    import lightgbm as lgb
    d, v = lgb.Dataset(X[tr], y[tr]), lgb.Dataset(X[va], y[va])
    m = lgb.train({"objective": "l2", "metric": "rmse", "learning_rate": 0.15, "num_leaves": 15, "num_threads": 1, "verbose": -1}, d, 120,
                  valid_sets=[v], callbacks=[lgb.early_stopping(15), lgb.log_evaluation(10), lambda env: time.sleep(0.05)])
    m.save_model(f"modelle/lgb_{k}.txt")
    return m.predict(X[va], num_iteration=m.best_iteration)


def cat_modell(tr, va):
    from catboost import CatBoostRegressor

    class Takt:
        def after_iteration(self, info):
            time.sleep(0.05)
            return True

    m = CatBoostRegressor(iterations=120, depth=4, learning_rate=0.15, thread_count=1, od_type="Iter", od_wait=15, verbose=10, allow_writing_files=False)
    m.fit(X[tr], y[tr], eval_set=(X[va], y[va]), callbacks=[Takt()])
    m.save_model(f"modelle/cat_{k}.cbm")
    return m.predict(X[va])


for k, (tr, va) in enumerate(KFold(4, shuffle=True, random_state=0).split(X)):
    print(f"== {art}: Falte {k + 1}/4 ({len(tr)} Training, {len(va)} Prüfung) ==", flush=True)
    oof[va] = (lgb_modell if art == "lgb" else cat_modell)(tr, va)
    print(f"   Falte {k + 1}: RMSE {mean_squared_error(y[va], oof[va]) ** 0.5:.4f}", flush=True)
np.save(f"oof_{art}.npy", oof)
print(f"{art} fertig: RMSE gesamt {mean_squared_error(y, oof) ** 0.5:.4f} nach {time.time() - t0:.0f} s", flush=True)
