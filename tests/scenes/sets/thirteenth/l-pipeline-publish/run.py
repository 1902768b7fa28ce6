import argparse
import http.client
import json
import os
import time

import numpy as np
import lightgbm as lgb

ap = argparse.ArgumentParser()
ap.add_argument("--rounds", type=int, default=120)
ap.add_argument("--registry", default="127.0.0.1:18533")
ap.add_argument("--out", default="artifacts")
args = ap.parse_args()
os.makedirs(args.out, exist_ok=True)


def stage(name):
    print(f"=== {time.strftime('%H:%M:%S')} stage: {name} ===", flush=True)


stage("features")
rng = np.random.default_rng(5)
X = rng.normal(size=(1500, 12))
y = (X[:, 0] * X[:, 1] + X[:, 2] + 0.4 * rng.normal(size=1500) > 0).astype(int)
print(f"rows={len(X)} positives={y.mean():.3f}", flush=True)
time.sleep(4)

stage("training")
train = lgb.Dataset(X[:1200], y[:1200])
valid = lgb.Dataset(X[1200:], y[1200:], reference=train)


def pace(env):
    time.sleep(0.25)


booster = lgb.train(
    {"objective": "binary", "metric": "binary_logloss", "num_threads": 1, "verbosity": -1, "learning_rate": 0.05, "num_leaves": 15},
    train, num_boost_round=args.rounds, valid_sets=[valid],
    callbacks=[lgb.log_evaluation(5), pace],
)
path = os.path.join(args.out, "model.txt")
booster.save_model(path)
print(f"model written to {path} ({os.path.getsize(path)} bytes)", flush=True)

stage("evaluation")
auc_in = booster.predict(X[1200:])
print(json.dumps({"accuracy": float(((auc_in > 0.5) == y[1200:]).mean())}), flush=True)
time.sleep(2)

stage("publish")
host, port = args.registry.split(":")
conn = http.client.HTTPConnection(host, int(port), timeout=15)
conn.request("PUT", "/models/churn/nightly", body=open(path, "rb").read())
print("registry answered", conn.getresponse().status, flush=True)
stage("done")
