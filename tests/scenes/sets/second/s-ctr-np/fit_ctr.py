"""logistic regression with hashed features over csv day files, sgd in numpy"""
import csv
import json
import os
import queue
import random
import signal
import sys
import threading
import time
os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np

signal.alarm(280)
DIM, BATCH = 4096, 256
DAYS = [f"days/day_{d:02d}.csv" for d in range(14)]


def make_days():
    os.makedirs("days", exist_ok=True)
    rng = random.Random(9)
    for d, path in enumerate(DAYS):
        with open(path, "w", newline="") as f:
            w = csv.writer(f)
            for i in range(BATCH * 40):
                site, hour, price = rng.randrange(300), rng.randrange(24), round(rng.random() * 5, 2)
                y = int(rng.random() < 0.1 + 0.4 * (site % 5 == 0))
                if d == 4 and i == 5000:
                    price = "n/a"
                w.writerow([y, site, hour, price])


def reader(out):
    for path in DAYS:
        with open(path, newline="") as f:
            ys, xs = [], []
            for row in csv.reader(f):
                ys.append(float(row[0]))
                xs.append([hash(("s", int(row[1]))) % DIM, hash(("h", int(row[2]))) % DIM, int(float(row[3])) % DIM])
                if len(ys) == BATCH:
                    out.put((path, np.array(xs), np.array(ys)))
                    ys, xs = [], []
    out.put(None)


def main():
    make_days()
    batches = queue.Queue(maxsize=4)
    threading.Thread(target=reader, args=(batches,), name="csv-reader", daemon=True).start()
    w = np.zeros(DIM)
    seen, ema = 0, None
    while True:
        item = batches.get()
        if item is None:
            break
        path, idx, y = item
        p = 1 / (1 + np.exp(-w[idx].sum(1)))
        loss = float(-np.mean(y * np.log(p + 1e-9) + (1 - y) * np.log(1 - p + 1e-9)))
        np.add.at(w, idx.ravel(), np.repeat(0.5 * (y - p) / BATCH * 20, 3))
        seen += BATCH
        ema = loss if ema is None else 0.98 * ema + 0.02 * loss
        time.sleep(0.14)
        if seen % (BATCH * 5) == 0:
            sys.stdout.write(json.dumps({"ts": round(time.time(), 2), "file": path, "examples": seen,
                                         "logloss": round(ema, 5)}) + "\n")
            sys.stdout.flush()
        if seen % (BATCH * 100) == 0:
            np.save("weights.npy", w)
    np.save("weights.npy", w)
    print(json.dumps({"event": "done", "examples": seen}))


main()
