"""The nightly refit: one booster a day partition, each as soon as the feed has delivered it."""
import datetime
import pathlib
import sys
import time

import numpy as np
import xgboost as xgb


def say(*a):
    print(datetime.datetime.now().isoformat(timespec="seconds"), *a, flush=True)


class Slow(xgb.callback.TrainingCallback):
    def after_iteration(self, model, epoch, evals_log):
        time.sleep(0.25)
        return False


def wait_for(day, every=8, most=90):
    ok = pathlib.Path("landing", day, "_SUCCESS")
    n = 0
    while not ok.exists():
        n += 1
        if n > most:
            say("ERROR", day, "did not arrive, giving up")
            sys.exit(3)
        say("WARN", f"partition {day} not there yet, try {n}/{most}, again in {every} s")
        time.sleep(every)


booster = None
pathlib.Path("models").mkdir(exist_ok=True)
for day in sys.argv[1:]:
    wait_for(day)
    d = np.load(f"landing/{day}/transactions.npz")
    tr, va = xgb.DMatrix(d["x"][:3000], d["y"][:3000]), xgb.DMatrix(d["x"][3000:], d["y"][3000:])
    say("INFO", f"{day}: {len(d['y'])} rows, {d['y'].mean():.3%} fraud")
    booster = xgb.train({"objective": "binary:logistic", "eval_metric": ["logloss", "aucpr"], "max_depth": 4,
                         "eta": 0.35, "nthread": 1, "seed": 1}, tr, 400, [(tr, "train"), (va, "valid")],
                        verbose_eval=5, early_stopping_rounds=12, callbacks=[Slow()])
    booster.save_model(f"models/fraud_{day}.ubj")
    say("INFO", f"{day}: best round {booster.best_iteration}, valid aucpr {booster.best_score:.4f}, saved")
say("INFO", "nightly refit done")
