import os
import pickle
import sys
import time

import numpy as np

SLOT_S = float(os.environ.get("SLOT_S", "25"))
EPOCHS = 18
began = time.time()


def log(*a):
    print(time.strftime("%Y/%m/%d %H:%M:%S"), *a, flush=True)


rng = np.random.default_rng(0)
X = rng.standard_normal((600, 30))
w_true = rng.standard_normal(30)
y = (X @ w_true + rng.standard_normal(600) > 0).astype(float)
if os.path.exists("resume.pkl"):
    with open("resume.pkl", "rb") as f:
        start, w, m = pickle.load(f)
    log(f"=> loaded checkpoint 'resume.pkl' (epoch {start})")
else:
    start, w, m = 0, np.zeros(30), np.zeros(30)
    log("=> no checkpoint found, training from scratch")
for epoch in range(start, EPOCHS):
    order, losses = rng.permutation(600), []
    for k in range(0, 600, 40):
        i = order[k:k + 40]
        p = 1 / (1 + np.exp(-X[i] @ w))
        losses.append(-np.mean(y[i] * np.log(p + 1e-9) + (1 - y[i]) * np.log(1 - p + 1e-9)))
        m = 0.9 * m + X[i].T @ (p - y[i]) / len(i)
        w = w - 0.02 * m
        time.sleep(0.25)
    acc = np.mean((X @ w > 0) == (y > 0.5))
    log(f"Train Epoch: {epoch} \tLoss: {np.mean(losses):.6f} \tAcc: {acc:.4f}")
    with open("resume.tmp", "wb") as f:
        pickle.dump((epoch + 1, w, m), f)
    os.replace("resume.tmp", "resume.pkl")
    if epoch + 1 < EPOCHS and time.time() - began > SLOT_S:
        log(f"time slot of {SLOT_S:.0f} s used up, leaving the box to the next user (exit 85)")
        sys.exit(85)
log("training complete")
