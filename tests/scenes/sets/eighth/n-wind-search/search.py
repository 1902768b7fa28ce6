"""Random search over the wind power model; each trial is a process of its own, with its own log."""
import argparse
import json
import os
import random
import subprocess
import sys
import time

ap = argparse.ArgumentParser()
ap.add_argument("--trials", type=int, default=20)
a = ap.parse_args()
rng = random.Random(8)
os.makedirs("trials", exist_ok=True)
best = (float("inf"), None, None)


def info(msg):
    print(f"[I {time.strftime('%Y-%m-%d %H:%M:%S')}] {msg}", flush=True)


info(f"A new study created with name: wind-{os.getpid()}")
for k in range(a.trials):
    p = {"lr": round(10 ** rng.uniform(-3.2, -1.6), 5), "width": rng.choice([32, 64, 128]),
         "lags": 24 if k < 6 else rng.choice([24, 36, 48])}
    with open(f"trials/{k:03d}.log", "w") as f:
        r = subprocess.run([sys.executable, "-u", "trial.py", "--number", str(k)] + [s for n, v in p.items() for s in (f"--{n}", str(v))],
                           stdout=f, stderr=subprocess.STDOUT)
    try:
        value = json.load(open(f"trials/{k:03d}.json"))["val_rmse"]
    except FileNotFoundError:
        value = float("inf")
    if value < best[0]:
        best = (value, k, p)
    info(f"Trial {k} finished with value: {value} and parameters: {p}. Best is trial {best[1]} with value: {best[0]}.")
    time.sleep(3)                                # let the box cool down between trials
info(f"Study finished. {a.trials} trials, best {best[1]}: {best[2]} -> {best[0]}")
