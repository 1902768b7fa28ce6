"""One worker of the churn search: takes trials from the study until there are none left."""
import logging
import sys
import time

import numpy as np

import study

name = sys.argv[1]
logging.basicConfig(stream=sys.stdout, level=logging.INFO, format=f"[%(levelname).1s %(asctime)s worker-{name}] %(message)s",
                    datefmt="%H:%M:%S")


def customers(seed=3, n=1500):
    rng = np.random.default_rng(seed)
    x = rng.normal(0, 1, (n, 12))
    y = (np.tanh(x[:, 0] * x[:, 1]) + 0.5 * x[:, 2] + 0.4 * rng.normal(0, 1, n) > 0).astype(float)
    return x, y


def run_trial(con, trial, params, steps):
    rng = np.random.default_rng(trial)
    x, y = customers()
    h = params["hidden"]
    w1, w2 = rng.normal(0, 0.3, (12, h)), rng.normal(0, 0.3, h)
    value = None
    for step in range(1, steps + 1):
        for _ in range(5):
            i = rng.integers(0, 1200, 128)
            a = np.tanh(x[i] @ w1)
            p = 1 / (1 + np.exp(-np.clip(a @ w2, -30, 30)))
            d = (p - y[i]) / 128
            g2, g1 = a.T @ d, x[i].T @ (np.outer(d, w2) * (1 - a ** 2))
            w2 -= params["lr"] * (g2 + params["l2"] * w2) * 5
            w1 -= params["lr"] * (g1 + params["l2"] * w1) * 5
        time.sleep(0.12)
        if step % 8 == 0 or step == steps:
            p = 1 / (1 + np.exp(-np.clip(np.tanh(x[1200:] @ w1) @ w2, -30, 30)))
            value = float(((p > 0.5) == y[1200:]).mean())
            study.report(con, trial, step, value)
    return value


con = study.connect()
while (job := study.claim(con)) is not None:
    trial, params, steps = job
    t0 = time.time()
    value = run_trial(con, trial, params, steps)
    study.finish(con, trial, value)
    logging.info("Trial %d finished with value: %.4f and parameters: %s. (%d steps, %.1fs)", trial, value, params, steps, time.time() - t0)
logging.info("no trials left")
