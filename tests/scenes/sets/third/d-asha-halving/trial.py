import argparse
import csv
import time

import numpy as np

ap = argparse.ArgumentParser()
ap.add_argument("--name")
ap.add_argument("--lr", type=float)
ap.add_argument("--width", type=int)
ap.add_argument("--epochs", type=int, default=40)
args = ap.parse_args()

data = np.random.default_rng(1)
x = data.uniform(-2, 2, size=(1200, 3))
y = np.sin(2 * x[:, :1]) * x[:, 1:2] + 0.3 * x[:, 2:] + 0.1 * data.normal(size=(1200, 1))
rng = np.random.default_rng(args.width)
w1, b1 = rng.normal(size=(3, args.width)), np.zeros(args.width)
w2, b2 = rng.normal(size=(args.width, 1)) / np.sqrt(args.width), np.zeros(1)
with open(f"trials/{args.name}.csv", "w", newline="") as f:
    out = csv.writer(f)
    out.writerow(["epoch", "train_loss", "val_loss"])
    for epoch in range(1, args.epochs + 1):
        order = rng.permutation(1000)
        losses = []
        for at in range(0, 1000, 50):
            i = order[at:at + 50]
            h = np.tanh(x[i] @ w1 + b1)
            d = h @ w2 + b2 - y[i]
            losses.append(float((d * d).mean()))
            g = 2 * d / 50
            gh = (g @ w2.T) * (1 - h * h)
            w2 -= args.lr * h.T @ g
            b2 -= args.lr * g.sum(0)
            w1 -= args.lr * x[i].T @ gh
            b1 -= args.lr * gh.sum(0)
            time.sleep(0.08)
        dv = np.tanh(x[1000:] @ w1 + b1) @ w2 + b2 - y[1000:]
        out.writerow([epoch, f"{np.mean(losses):.5f}", f"{(dv * dv).mean():.5f}"])
        f.flush()
        np.savez(f"trials/{args.name}.npz", w1=w1, b1=b1, w2=w2, b2=b2, epoch=epoch)
