import logging
import os
import time

import lightgbm as lgb
import numpy as np

logging.basicConfig(filename="ctr.log", level=logging.INFO, format="%(asctime)s.%(msecs)03d %(process)d %(levelname)s %(message)s", datefmt="%m-%d %H:%M:%S")
log = logging.getLogger("ctr")
open("ctr.pid", "w").write(str(os.getpid()))
ROUNDS = 900


def clicks(n, seed):
    r = np.random.default_rng(seed)
    x = r.normal(size=(n, 15))
    x[:, 8:] = r.integers(0, 30, (n, 7))
    z = x[:, 0] * x[:, 1] + .8 * np.sin(2 * x[:, 2]) + .05 * (x[:, 8] - 15) - 1.2
    return x, (r.random(n) < 1 / (1 + np.exp(-z))).astype(int)


def report(env):
    time.sleep(0.12)
    if (env.iteration + 1) % 10 == 0:
        scores = "  ".join(f"{d} {m} {v:.5f}" for d, m, v, _ in env.evaluation_result_list)
        log.info("round %d/%d  %s", env.iteration + 1, ROUNDS, scores)


def snapshot(env):
    if (env.iteration + 1) % 100 == 0:
        env.model.save_model("ctr.part.txt")
        log.info("model so far written to ctr.part.txt (%d kB)", os.path.getsize("ctr.part.txt") // 1024)


x, y = clicks(6000, 0)
xv, yv = clicks(2000, 1)
train = lgb.Dataset(x, y, categorical_feature=list(range(8, 15)))
log.info("rows %d/%d, click rate %.3f", len(x), len(xv), y.mean())
params = {"objective": "binary", "metric": ["binary_logloss", "auc"], "learning_rate": 0.01, "num_leaves": 15, "num_threads": 1,
          "min_data_in_leaf": 60, "verbose": -1, "seed": 4, "feature_pre_filter": False}
booster = lgb.train(params, train, ROUNDS, valid_sets=[train.create_valid(xv, yv)], valid_names=["valid"], callbacks=[report, snapshot])
booster.save_model("ctr.txt")
log.info("training done, model written to ctr.txt")
