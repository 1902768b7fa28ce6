"""Regression head with SGD and warm restarts. One JSON object per line on stdout."""
import json
import math
import os
import sys
import time

import numpy as np

CFG = json.load(open("config.json"))
rng = np.random.default_rng(CFG["seed"])
D, H = 32, 64
W_true = rng.normal(size=(D, 1)).astype(np.float32)
w1 = (rng.normal(size=(D, H)) / math.sqrt(D)).astype(np.float32)
w2 = (rng.normal(size=(H, 1)) / math.sqrt(H)).astype(np.float32)


def emit(event, **fields):
    sys.stdout.write(json.dumps({"ts": round(time.time(), 3), "event": event, **fields}) + "\n")
    sys.stdout.flush()


def lr_at(step):
    start, cycle = 0, CFG["cycle"]
    peak = CFG["peaks"][min(step // cycle, len(CFG["peaks"]) - 1)]
    t = (step - start) % cycle / cycle
    return 0.5 * peak * (1 + math.cos(math.pi * t))


def batch():
    x = rng.normal(size=(64, D)).astype(np.float32)
    return x, np.tanh(x @ W_true) + 0.05 * rng.normal(size=(64, 1)).astype(np.float32)


def save(step):
    os.makedirs("checkpoints", exist_ok=True)
    np.savez(f"checkpoints/step_{step:06d}.npz", w1=w1, w2=w2)
    for old in sorted(os.listdir("checkpoints"))[:-3]:
        os.unlink(os.path.join("checkpoints", old))
    emit("checkpoint", step=step, path=f"checkpoints/step_{step:06d}.npz")


emit("run_start", config=CFG, pid=os.getpid())
for step in range(1, CFG["steps"] + 1):
    x, y = batch()
    h = x @ w1
    a = np.maximum(h, 0)
    err = a @ w2 - y
    loss = float(np.mean(err**2))
    g = 2 * err / len(x)
    gw2 = a.T @ g
    gw1 = x.T @ ((g @ w2.T) * (h > 0))
    lr = lr_at(step)
    w1 -= lr * gw1
    w2 -= lr * gw2
    gnorm = float(np.sqrt((gw1.astype(np.float64) ** 2).sum() + (gw2.astype(np.float64) ** 2).sum()))
    time.sleep(0.05)
    if step % 5 == 0:
        emit("train", step=step, total=CFG["steps"], loss=loss, lr=round(lr, 5), grad_norm=gnorm)
    if step % 100 == 0:
        save(step)
emit("run_end", step=CFG["steps"])
