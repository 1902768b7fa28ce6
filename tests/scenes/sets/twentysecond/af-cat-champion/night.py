"""Champion / challenger: each night a challenger is trained, and takes over only if it is better."""
import logging
import os
import sys
import time

import numpy as np
from catboost import CatBoostClassifier
from sklearn.metrics import roc_auc_score

logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(asctime)s %(levelname)-8s %(message)s")
log = logging.getLogger("nightly")
NEW_ROWS = [400, 500, 0, 350, 60, 0, 450, 500]


def rows(n, rng):
    X = rng.normal(size=(n, 8))
    return X, (X[:, 0] - X[:, 1] * X[:, 2] + rng.normal(0, 0.8, n) > 0).astype(int)


class Pace:
    def after_iteration(self, info):
        time.sleep(0.35)
        return True


Xv, yv = rows(1000, np.random.default_rng(99))
champion, champion_auc = None, 0.0
X, y = np.zeros((0, 8)), np.zeros(0, int)
for night, n in enumerate(NEW_ROWS, 1):
    log.info("night %d: %d new rows", night, n)
    if n == 0:
        log.warning("night %d: no new data, nothing to train, skipping", night)
        time.sleep(4)
        continue
    a, b = rows(n, np.random.default_rng(night))
    X, y = np.vstack([X, a])[-900:], np.r_[y, b][-900:]
    m = CatBoostClassifier(iterations=40, depth=4, learning_rate=0.15, thread_count=1, random_seed=night, allow_writing_files=False)
    m.fit(X, y, eval_set=(Xv, yv), verbose=8, callbacks=[Pace()])
    auc = roc_auc_score(yv, m.predict_proba(Xv)[:, 1])
    if auc > champion_auc:
        champion_auc = auc
        m.save_model("champion.cbm")
        log.info("night %d: challenger accepted, auc %.4f", night, auc)
    else:
        log.warning("night %d: challenger REJECTED, auc %.4f below champion %.4f, keeping champion", night, auc, champion_auc)
    time.sleep(2)
log.info("all nights done, champion auc %.4f", champion_auc)
