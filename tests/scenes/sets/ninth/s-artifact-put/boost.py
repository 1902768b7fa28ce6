import sys
import time
import logging

import lightgbm as lgb
import numpy as np
import requests

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)-8s %(message)s", stream=sys.stdout)
log = logging.getLogger("ctr")
logging.getLogger("urllib3").setLevel(logging.WARNING)
BASE = sys.argv[1]


def put(name, text, tries=5):
    for n in range(1, tries + 1):
        r = requests.put(f"{BASE}/{name}", data=text.encode(), timeout=20)
        if r.ok:
            log.info("uploaded %s (%d bytes)", name, len(text))
            return
        log.warning("upload of %s failed: HTTP %d (try %d/%d), waiting 2 s", name, r.status_code, n, tries)
        time.sleep(2)
    raise RuntimeError(f"cannot upload {name}")


def watch(env):
    time.sleep(0.35)
    n = env.iteration + 1
    if n % 5 == 0:
        log.info("[%d] %s", n, "  ".join(f"{d}'s {m}: {v:.5f}" for d, m, v, *_ in env.evaluation_result_list))
    if n % 10 == 0:
        put(f"round{n:03d}.txt", env.model.model_to_string())


rng = np.random.default_rng(6)
x = rng.normal(size=(3000, 15))
p = 1 / (1 + np.exp(-(x[:, 0] * 1.5 + x[:, 1] * x[:, 2] - 1)))
y = (rng.random(3000) < p).astype(int)
train = lgb.Dataset(x[:2400], y[:2400])
params = dict(objective="binary", metric="binary_logloss", num_leaves=15, learning_rate=0.06, num_threads=1, verbosity=-1)
lgb.train(params, train, 120, valid_sets=[train.create_valid(x[2400:], y[2400:])], callbacks=[watch])
log.info("server lists %d artifacts, done", len(requests.get(BASE, timeout=20).json()))
