import logging
import os
import time
import urllib.error
import urllib.request

import numpy as np
import xgboost as xgb

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s - %(message)s")
log = logging.getLogger("credit")


class Report(xgb.callback.TrainingCallback):
    def after_iteration(self, model, epoch, evals_log):
        time.sleep(0.3)
        if epoch % 5 == 0:
            log.info("round %d train-logloss %.5f valid-logloss %.5f", epoch, evals_log["train"]["logloss"][-1], evals_log["valid"]["logloss"][-1])
        return False


def upload(path, name, attempts=8):
    for n in range(1, attempts + 1):
        try:
            req = urllib.request.Request(f"http://127.0.0.1:18611/models/{name}", data=open(path, "rb").read(), method="PUT")
            with urllib.request.urlopen(req, timeout=10) as r:
                log.info("uploaded %s (%d), attempt %d", name, r.status, n)
                return
        except urllib.error.HTTPError as e:
            log.error("upload of %s failed: %s (attempt %d/%d)", name, e, n, attempts)
            time.sleep(float(e.headers.get("Retry-After", 2)))
    raise SystemExit("upload failed")


rng = np.random.default_rng(0)
X = rng.normal(size=(2000, 10))
y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=2000) > 0).astype(int)
d, v = xgb.DMatrix(X[:1500], y[:1500]), xgb.DMatrix(X[1500:], y[1500:])
booster = xgb.train({"objective": "binary:logistic", "eta": 0.15, "max_depth": 3, "nthread": 1}, d, num_boost_round=150,
                    evals=[(d, "train"), (v, "valid")], verbose_eval=False, early_stopping_rounds=20, callbacks=[Report()])
log.info("stopped at round %d, best %d", booster.num_boosted_rounds(), booster.best_iteration)
booster.save_model("model.json")
upload("model.json", "credit/v12/model.json")
upload("train.py", "credit/v12/train.py")
log.info("release v12 is complete (%d bytes)", os.path.getsize("model.json"))
