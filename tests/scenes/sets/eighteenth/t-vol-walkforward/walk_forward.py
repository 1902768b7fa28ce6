import argparse
import time

import lightgbm as lgb
import numpy as np

p = argparse.ArgumentParser()
p.add_argument("--windows", type=int, default=40)
p.add_argument("--train-days", type=int, default=500)
args = p.parse_args()
rng = np.random.default_rng(20)
days = args.train_days + 25 * (args.windows + 1)
vol = np.empty(days)
vol[0] = 0.01
ret = np.empty(days)
for t in range(days):
    if t:
        vol[t] = np.sqrt(2e-6 + 0.08 * ret[t - 1] ** 2 + 0.9 * vol[t - 1] ** 2)
    ret[t] = vol[t] * rng.standard_normal()
lags = np.stack([np.roll(np.abs(ret), k) for k in range(1, 23)], 1)
target = np.log(np.abs(ret) + 1e-5)
print(f"universe: SYNTH.VOL, {days} days, {lags.shape[1]} features", flush=True)


def pace(env):
    time.sleep(0.06)


preds, truth = [], []
for w in range(args.windows):
    lo, hi = 25 * w, 25 * w + args.train_days
    tr = lgb.Dataset(lags[lo + 22 : hi], target[lo + 22 : hi])
    va = lgb.Dataset(lags[hi : hi + 25], target[hi : hi + 25], reference=tr)
    print(f"\n--- window {w + 1}/{args.windows}: fit days {lo}..{hi}, test {hi}..{hi + 25}", flush=True)
    booster = lgb.train(
        {"objective": "regression", "num_leaves": 7, "learning_rate": 0.05, "num_threads": 1, "verbosity": -1},
        tr, 60, valid_sets=[va], valid_names=["next_month"], callbacks=[lgb.log_evaluation(20), pace])
    preds.append(booster.predict(lags[hi : hi + 25]))
    truth.append(target[hi : hi + 25])
    booster.save_model(f"model_w{w + 1:02d}.txt")
    ic = np.corrcoef(np.concatenate(preds), np.concatenate(truth))[0, 1]
    print(f"out-of-sample IC so far {ic:+.3f}", flush=True)
np.save("oos.npy", np.concatenate(preds))
print("walk-forward complete")
