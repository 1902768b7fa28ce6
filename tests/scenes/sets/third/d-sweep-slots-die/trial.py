"""Poisson regression by gradient descent, one trial of the sweep."""
import argparse
import json
import math
import random
import time

ap = argparse.ArgumentParser()
ap.add_argument("--id", type=int)
ap.add_argument("--lr", type=float)
ap.add_argument("--steps", type=int)
args = ap.parse_args()

rng = random.Random(4)
xs = [max(-2.5, min(2.5, rng.gauss(0, 1))) for _ in range(200)]
ys = []
for x in xs:
    limit, k, p = math.exp(-math.exp(0.8 * x)), 0, rng.random()
    while p > limit:
        k, p = k + 1, p * rng.random()
    ys.append(k)
w, best = 0.0, float("inf")
for step in range(1, args.steps + 1):
    lr = args.lr * min(1.0, step / 20)
    rate = [math.exp(w * x) for x in xs]
    loss = sum(r - y * w * x for r, x, y in zip(rate, xs, ys)) / len(xs)
    grad = sum((r - y) * x for r, x, y in zip(rate, xs, ys)) / len(xs)
    w -= lr * grad
    best = min(best, loss)
    print(f"step {step}/{args.steps} loss {loss:.6g} w {w:.4f} lr {lr:.3g}", flush=True)
    time.sleep(0.4)
with open(f"results/trial_{args.id:02d}.json", "w") as f:
    json.dump({"id": args.id, "lr": args.lr, "loss": best}, f)
