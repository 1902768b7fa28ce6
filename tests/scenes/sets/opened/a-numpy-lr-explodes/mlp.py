"""Two layer network in plain numpy; logs JSON lines."""
import json
import sys
import time

import numpy as np

rng = np.random.default_rng(12)
D, H, N = 20, 64, 2048
X = rng.normal(size=(N, D))
w_true = rng.normal(size=(D, 1))
Y = np.tanh(X @ w_true) + 0.5 + 0.05 * rng.normal(size=(N, 1))

W1 = rng.normal(size=(D, H)) / np.sqrt(D)
b1 = np.zeros(H)
W2 = rng.normal(size=(H, 1)) / np.sqrt(H)
b2 = np.zeros(1)

lr, growth, warmup, total = 1e-3, 1.08, 30, 480
out = open("metrics.jsonl", "w", buffering=1)
t0 = time.time()
for step in range(1, total + 1):
    idx = rng.integers(0, N, 64)
    x, y = X[idx], Y[idx]
    z = x @ W1 + b1
    h = np.maximum(z, 0.01 * z)
    pred = h @ W2 + b2
    err = pred - y
    loss = float((err ** 2).mean())
    g = 2 * err / len(x)
    gW2, gb2 = h.T @ g, g.sum(0)
    gh = (g @ W2.T) * np.where(z > 0, 1.0, 0.01)
    gW1, gb1 = x.T @ gh, gh.sum(0)
    # warm-up: a little more each step
    if warmup:
        lr *= growth
    for p, gp in ((W1, gW1), (b1, gb1), (W2, gW2), (b2, gb2)):
        p -= lr * gp
    gn = float(np.sqrt(sum((q ** 2).sum() for q in (gW1, gb1, gW2, gb2))))
    rec = {"step": step, "loss": loss, "grad_norm": gn, "lr": lr, "elapsed": round(time.time() - t0, 1)}
    line = json.dumps(rec)
    out.write(line + "\n")
    if step % 4 == 0:
        print(line)
        sys.stdout.flush()
    time.sleep(0.25)
