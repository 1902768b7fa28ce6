"""One-hidden-layer forecaster in numpy on a made-up load curve."""
import argparse, sys, time
import numpy as np

ap = argparse.ArgumentParser()
ap.add_argument("--width", type=int, required=True)
ap.add_argument("--epochs", type=int, default=14)
ap.add_argument("--tag", required=True)
a = ap.parse_args()
rng = np.random.default_rng(0)
t = np.arange(3000)
load = np.sin(t / 24 * 2 * np.pi) + 0.4 * np.sin(t / 168 * 2 * np.pi) + 0.1 * rng.normal(size=t.size)
X = np.lib.stride_tricks.sliding_window_view(load, 48)[:-1]
y = load[48:]
W1, b1 = rng.normal(0, 0.1, (48, a.width)), np.zeros(a.width)
W2, b2 = rng.normal(0, 0.1, a.width), 0.0
lr, best = 0.05, 9.9
for ep in range(1, a.epochs + 1):
    order, tot = rng.permutation(len(X) - 400), 0.0
    for k in range(0, len(order) - 127, 128):
        i = order[k:k + 128]
        h = np.tanh(X[i] @ W1 + b1)
        e = h @ W2 + b2 - y[i]
        tot += (e ** 2).mean()
        gh = np.outer(e, W2) * (1 - h ** 2)
        W2 -= lr * h.T @ e / 128
        b2 -= lr * e.mean()
        W1 -= lr * X[i].T @ gh / 128
        b1 -= lr * gh.mean(0)
        time.sleep(0.08)
    v = np.mean((np.tanh(X[-400:] @ W1 + b1) @ W2 + b2 - y[-400:]) ** 2)
    best = min(best, v)
    print(f"[{a.tag}] epoch {ep}/{a.epochs} train_mse={tot / (len(order) // 128):.4f} val_mse={v:.4f}", flush=True)
np.savez(f"{a.tag}.npz", W1=W1, b1=b1, W2=W2, b2=b2)
with open("results.tsv", "a") as f:
    f.write(f"{a.tag}\t{best:.5f}\n")
