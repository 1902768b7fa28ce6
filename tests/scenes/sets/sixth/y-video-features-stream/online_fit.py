"""Learns from the shards as they come (one pass). Mostly it waits for the decoder, which is as it should be."""
import os
import time

import numpy as np

w, seen, part = np.zeros(32), 0, 0
best = float("inf")


def say(text):
    print(f"{time.strftime('%d.%m. %H:%M:%S')}  {text}", flush=True)


say("learner ready")
while True:
    path = f"shards/part_{part:03d}.npz"
    waits = 0
    while not os.path.exists(path) and not os.path.exists("shards/COMPLETE"):
        if waits % 3 == 0:
            say(f"nothing to do: waiting for {path} (retry {waits // 3 + 1})")
        waits += 1
        time.sleep(1)
    if not os.path.exists(path):
        break
    with np.load(path) as f:
        x, y = f["x"], f["y"]
    before = float(((x @ w - y) ** 2).mean())       # prediction before learning: honest, but jumpy
    for i in range(0, len(x), 25):
        xb, yb = x[i:i + 25], y[i:i + 25]
        w -= 0.03 * xb.T @ (xb @ w - yb) / len(xb)
        time.sleep(0.08)
    seen += len(x)
    part += 1
    say(f"{path}: {len(x)} clips, error before {before:.3f}, {seen} clips so far")
    if before < best:
        best = before
        np.savez("learner.tmp.npz", w=w, seen=seen)
        os.replace("learner.tmp.npz", "learner.npz")
say(f"no more shards, learned from {seen} clips, best error {best:.3f}")
