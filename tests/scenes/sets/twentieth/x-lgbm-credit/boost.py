import logging
import time

import catboost as cb
import lightgbm as lgb
import numpy as np
from sklearn.metrics import roc_auc_score

logging.basicConfig(level=logging.INFO, format="%(levelname).1s %(asctime)s %(name)s] %(message)s", datefmt="%m%d %H:%M:%S")
log = logging.getLogger("credit")


def table(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 20))
    x[rng.random(x.shape) < 0.05] = np.nan
    score = np.nan_to_num(x[:, 0]) + np.nan_to_num(x[:, 1]) * np.nan_to_num(x[:, 2]) + rng.normal(size=n)
    return x, (score > 1.0).astype(int)


def slow(env):
    time.sleep(0.15)


class Slow:
    def after_iteration(self, info):
        time.sleep(0.1)
        return True


def main():
    xt, yt = table(3000, 1)
    xv, yv = table(1000, 2)
    log.info("train %s, valid %s, default rate %.3f, missing cells %d", xt.shape, xv.shape, yt.mean(), int(np.isnan(xt).sum()))
    train = lgb.Dataset(xt, yt)
    valid = lgb.Dataset(xv, yv, reference=train)
    params = dict(objective="binary", metric="binary_logloss", num_leaves=15, learning_rate=0.1, num_threads=1, verbosity=1)
    a = lgb.train(params, train, 400, valid_sets=[valid], callbacks=[lgb.early_stopping(25), lgb.log_evaluation(5), slow])
    a.save_model("lgbm.txt")
    log.info("lightgbm: AUC %.4f at iteration %d", roc_auc_score(yv, a.predict(xv)), a.best_iteration)
    b = cb.CatBoostClassifier(iterations=160, depth=4, learning_rate=0.1, thread_count=1, od_wait=30, allow_writing_files=False, verbose=10)
    b.fit(xt, yt, eval_set=(xv, yv), callbacks=[Slow()])
    b.save_model("catboost.cbm")
    p = (a.predict(xv) + b.predict_proba(xv)[:, 1]) / 2
    log.info("blend: AUC %.4f", roc_auc_score(yv, p))


if __name__ == "__main__":
    main()
