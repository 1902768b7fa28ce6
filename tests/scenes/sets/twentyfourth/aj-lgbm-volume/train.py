"""Lastprognose: LightGBM, Zwischenstände auf dem angehängten Datenträger."""
import logging
import time
from pathlib import Path

import lightgbm as lgb
import numpy as np

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("prognose")
VOL = Path("vol/lastprognose")
ROUNDS, EVERY = 260, 20


def table(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 12))
    return x, np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.3 * rng.normal(size=n)


def pace(env):
    time.sleep(0.35)
    if env.iteration % 5 == 4:
        log.info("Runde %d/%d  l2 %.5f", env.iteration + 1, ROUNDS, env.evaluation_result_list[0][2])


def save(env):
    r = env.iteration + 1
    if r % EVERY:
        return
    try:
        (VOL / f"modell_{r:04d}.txt").write_text(env.model.model_to_string())
        log.info("Zwischenstand Runde %d gesichert", r)
    except OSError as e:
        log.warning("Zwischenstand Runde %d nicht gesichert: %s", r, e)


def main():
    VOL.mkdir(parents=True, exist_ok=True)
    x, y = table(2000, 0)
    xv, yv = table(800, 1)
    train = lgb.Dataset(x, y)
    booster = lgb.train(
        {"objective": "regression", "learning_rate": 0.05, "num_leaves": 15, "num_threads": 1, "verbosity": -1},
        train, ROUNDS, valid_sets=[lgb.Dataset(xv, yv, reference=train)], callbacks=[pace, save],
    )
    (VOL / "modell.txt").write_text(booster.model_to_string())
    log.info("fertig")


if __name__ == "__main__":
    main()
