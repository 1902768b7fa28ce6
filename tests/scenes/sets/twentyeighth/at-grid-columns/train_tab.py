"""One trial: a two-layer net in NumPy on the churn table."""
import argparse
import os
import time

import numpy as np
from features import load

p = argparse.ArgumentParser()
p.add_argument("--hidden", type=int)
p.add_argument("--lr", type=float)
p.add_argument("--out")
a = p.parse_args()
pause = float(os.environ.get("PAUSE", "0.4"))
x, y = load("churn.csv")
rng = np.random.default_rng(0)
cut = 2400
w1, b1 = rng.normal(0, 0.4, (5, a.hidden)), np.zeros(a.hidden)
w2, b2 = rng.normal(0, 0.4, a.hidden), 0.0


def forward(x):
    h = np.tanh(x @ w1 + b1)
    return h, 1 / (1 + np.exp(-(h @ w2 + b2)))


def bce(p, y):
    p = np.clip(p, 1e-7, 1 - 1e-7)
    return -(y * np.log(p) + (1 - y) * np.log(1 - p)).mean()


for epoch in range(1, 25):
    for i in range(0, cut, 100):
        xb, yb = x[i:i + 100], y[i:i + 100]
        h, q = forward(xb)
        d = (q - yb) / len(yb)
        dh = np.outer(d, w2) * (1 - h * h)
        w2 -= a.lr * h.T @ d
        b2 -= a.lr * d.sum()
        w1 -= a.lr * xb.T @ dh
        b1 -= a.lr * dh.sum(0)
    print(f"  epoch {epoch:2d} train_bce {bce(forward(x[:cut])[1], y[:cut]):.4f} val_bce {bce(forward(x[cut:])[1], y[cut:]):.4f}", flush=True)
    time.sleep(pause)
np.savez(a.out, w1=w1, b1=b1, w2=w2, b2=b2)
print(f"  wrote {a.out}", flush=True)
