"""Search for the settings of a small net, with a median pruner (our own little optuna, same words)."""
import json
import logging
import os
import statistics
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np


class TrialPruned(Exception):
    pass


class Fmt(logging.Formatter):
    def format(self, r):
        return f"[{r.levelname[0]} {time.strftime('%Y-%m-%d %H:%M:%S')},{int(r.msecs):03d}] {r.getMessage()}"


h = logging.StreamHandler(sys.stderr)
h.setFormatter(Fmt())
log = logging.getLogger("study")
log.addHandler(h)
log.setLevel(logging.INFO)


class Study:
    def __init__(self, name, storage):
        self.name, self.storage, self.done, self.curves = name, storage, [], []
        log.info("A new study created in Journal with name: %s", name)

    def prune(self, step, value):
        old = [c[step] for c in self.curves if len(c) > step]
        return len(old) >= 3 and step >= 2 and value > statistics.median(old)

    def optimize(self, objective, n_trials, rng):
        for number in range(n_trials):
            p = {"lr": float(10 ** rng.uniform(-3.2, 0.9)), "hidden": int(rng.choice([8, 16, 32, 64])), "l2": float(10 ** rng.uniform(-6, -2))}
            curve, state = [], "COMPLETE"
            try:
                value = objective(p, curve, self.prune)
                self.done.append((value, number, p))
                best = min(self.done)
                log.info("Trial %d finished with value: %s and parameters: %s. Best is trial %d with value: %s.",
                         number, value, p, best[1], best[0])
            except TrialPruned as e:
                state = "PRUNED"
                log.info("Trial %d pruned. %s", number, e)
            self.curves.append(curve)
            with open(self.storage, "a") as f:
                f.write(json.dumps({"trial": number, "state": state, "params": p, "values": curve}) + "\n")


def objective(p, curve, prune):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((600, 8))
    y = np.sin(x[:, :1]) + x[:, 1:2] * x[:, 2:3] + 0.1 * rng.standard_normal((600, 1))
    w1, b1 = rng.standard_normal((8, p["hidden"])) * 0.4, np.zeros(p["hidden"])
    w2 = rng.standard_normal((p["hidden"], 1)) * 0.3
    for epoch in range(12):
        for k in range(0, 500, 25):
            a, t = x[k:k + 25], y[k:k + 25]
            z = np.tanh(a @ w1 + b1)
            d = 2 * (z @ w2 - t) / 25
            dz = (d @ w2.T) * (1 - z * z)
            w2 -= p["lr"] * (z.T @ d + p["l2"] * w2)
            w1 -= p["lr"] * (a.T @ dz + p["l2"] * w1)
            b1 -= p["lr"] * dz.sum(0)
            time.sleep(0.018)
        val = float(np.mean((np.tanh(x[500:] @ w1 + b1) @ w2 - y[500:]) ** 2))
        curve.append(val)
        if not np.isfinite(val):
            raise TrialPruned(f"Trial was pruned at epoch {epoch}: the loss is {val}.")
        if prune(epoch, val):
            raise TrialPruned(f"Trial was pruned at epoch {epoch}.")
    return val


if __name__ == "__main__":
    np.seterr(all="ignore")
    study = Study("mlp-regressor", "study.jsonl")
    study.optimize(objective, 30, np.random.default_rng(21))
    v, n, p = min(study.done)
    print(f"Number of finished trials: 30\nNumber of pruned trials: {30 - len(study.done)}\n"
          f"Number of complete trials: {len(study.done)}\nBest trial: {n}\n  Value: {v}\n  Params: {p}", flush=True)
