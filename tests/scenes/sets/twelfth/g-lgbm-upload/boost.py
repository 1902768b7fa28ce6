import json
import logging
import time
import urllib.error
import urllib.request

import lightgbm as lgb
import numpy as np

logging.basicConfig(level=logging.INFO, format="level=%(levelname)s ts=%(asctime)s logger=%(name)s msg=\"%(message)s\"")
log = logging.getLogger("nightly")
PORT = open("store.port").read()


def put(name, body):
    for attempt in range(1, 8):
        try:
            request = urllib.request.Request(f"http://127.0.0.1:{PORT}/{name}", data=body, method="PUT")
            with urllib.request.urlopen(request, timeout=10):
                log.info("uploaded %s, %d bytes", name, len(body))
                return
        except urllib.error.HTTPError as error:
            log.warning("upload of %s: attempt %d failed (%s), retrying in %d s", name, attempt, error, 2 * attempt)
            time.sleep(2 * attempt)
    raise RuntimeError(f"could not upload {name}")


def progress(env):
    time.sleep(0.35)
    if env.iteration % 5 == 0:
        log.info("iteration %d %s", env.iteration, " ".join(f"{r[0]}.{r[1]}={r[2]:.5f}" for r in env.evaluation_result_list))


rng = np.random.default_rng(1)
x = rng.normal(size=(2000, 10))
y = x[:, 0] ** 2 + np.abs(x[:, 1]) + rng.normal(size=2000)
train = lgb.Dataset(x[:1500], y[:1500])
valid = lgb.Dataset(x[1500:], y[1500:], reference=train)
model = lgb.train({"objective": "l2", "learning_rate": 0.06, "num_leaves": 15, "num_threads": 1, "verbose": -1}, train, 300,
                  valid_sets=[train, valid], valid_names=["train", "valid"], callbacks=[progress, lgb.early_stopping(15)])
log.info("best iteration %d", model.best_iteration)
put("model.txt", model.model_to_string().encode())
put("report.json", json.dumps({"best": model.best_iteration, "score": model.best_score["valid"]}).encode())
log.info("nightly job done")
