"""Skip-gram with negative sampling in plain numpy. Losses are in loss.csv, little is printed."""
import argparse
import csv
import time

import numpy as np

ap = argparse.ArgumentParser()
ap.add_argument("--dim", type=int, default=16)
ap.add_argument("--epochs", type=int, default=8)
ap.add_argument("--lr", type=float, default=0.3)
ap.add_argument("--out", default="vectors.npy")
a = ap.parse_args()

rng = np.random.default_rng(0)
V, TOPICS = 200, 10
topic = rng.integers(0, TOPICS, V)
pairs = []
for _ in range(4000):
    t = rng.integers(TOPICS)
    pairs.append(rng.choice(np.flatnonzero(topic == t), 2))
pairs = np.array(pairs)
W, C = rng.normal(0, 0.1, (V, a.dim)), rng.normal(0, 0.1, (V, a.dim))


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def batch_step(centre, context, lr):
    negative = rng.integers(0, V, (len(centre), 5))
    targets = np.concatenate([context[:, None], negative], 1)
    label = np.zeros(targets.shape)
    label[:, 0] = 1
    w, c = W[centre], C[targets]
    p = sigmoid(np.einsum("bd,bkd->bk", w, c))
    g = p - label
    np.add.at(W, centre, -lr * np.einsum("bk,bkd->bd", g, c))
    np.add.at(C, targets, -lr * g[..., None] * w[:, None])
    return -np.mean(np.sum(label * np.log(p + 1e-9) + (1 - label) * np.log(1 - p + 1e-9), 1))


with open("loss.csv", "w", newline="", buffering=1) as f:
    out = csv.DictWriter(f, ["time", "epoch", "step", "loss", "lr"])
    out.writeheader()
    step, steps = 0, a.epochs * (len(pairs) // 80)
    for epoch in range(a.epochs):
        rng.shuffle(pairs)
        for k in range(0, len(pairs), 80):
            lr = a.lr * (1 - step / steps) + 1e-4
            loss = batch_step(pairs[k:k + 80, 0], pairs[k:k + 80, 1], lr)
            step += 1
            time.sleep(0.11)
            if step % 10 == 0:
                out.writerow(dict(time=f"{time.time():.1f}", epoch=epoch, step=step, loss=f"{loss:.4f}", lr=f"{lr:.4f}"))
        print(f"pass {epoch + 1} of {a.epochs}", flush=True)
np.save(a.out, W)
near = np.argsort(-(W @ W[0]))[:5]
print("nearest to word 0:", *near.tolist(), "| same topic:", (topic[near] == topic[0]).sum(), "of 5")
