import logging
import time
import warnings

import catboost as cb
import lightgbm as lgb
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold

logging.basicConfig(format="%(asctime)s %(process)d %(levelname)-8s %(name)s - %(message)s", level=logging.INFO)
log = logging.getLogger("uplift.stack")
rng = np.random.default_rng(0)
x = rng.normal(size=(2400, 16))
y = (np.sin(x[:, 0] * 2) + x[:, 1] * x[:, 2] + rng.normal(0, 0.8, 2400) > 0).astype(int)
holdout = slice(2000, 2400)


def pace(env):
    time.sleep(0.06)


class Pace:
    def after_iteration(self, info):
        time.sleep(0.06)
        return True


oof = np.zeros((2000, 2))
out = np.zeros((400, 2))
for fold, (tr, va) in enumerate(KFold(4, shuffle=True, random_state=1).split(x[:2000])):
    log.info("fold %d: %d rows to train, %d to validate", fold, len(tr), len(va))
    gbm = lgb.train(
        {"objective": "binary", "metric": "binary_logloss", "learning_rate": 0.1, "num_threads": 1, "num_leaves": 31},
        lgb.Dataset(x[tr], y[tr]), 400, valid_sets=[lgb.Dataset(x[va], y[va])], valid_names=["valid"],
        callbacks=[lgb.early_stopping(15), lgb.log_evaluation(10), pace])
    log.info("fold %d: lightgbm stopped, best iteration %d", fold, gbm.best_iteration)
    cat = cb.CatBoostClassifier(iterations=300, learning_rate=0.2, depth=5, thread_count=1, od_type="Iter", od_wait=15,
                                allow_writing_files=False)
    cat.fit(x[tr], y[tr], eval_set=(x[va], y[va]), verbose=20, callbacks=[Pace()])
    log.info("fold %d: catboost stopped, best iteration %d", fold, cat.get_best_iteration())
    oof[va] = np.c_[gbm.predict(x[va]), cat.predict_proba(x[va])[:, 1]]
    out += np.c_[gbm.predict(x[holdout]), cat.predict_proba(x[holdout])[:, 1]] / 4
meta = LogisticRegression().fit(oof, y[:2000])
log.info("stacked: oof logloss %.4f, holdout logloss %.4f", log_loss(y[:2000], meta.predict_proba(oof)),
         log_loss(y[holdout], meta.predict_proba(out)))
for name, k in (("lightgbm", 0), ("catboost", 1)):
    log.info("alone: %s holdout logloss %.4f", name, log_loss(y[holdout], out[:, k]))
