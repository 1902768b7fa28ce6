"""CMA-like evolution strategy for a glider controller; saves its state and leaves on SIGUSR1."""
import argparse
import os
import signal
import sys
import time

import numpy as np

ap = argparse.ArgumentParser()
ap.add_argument("--state", default="state.npz")
ap.add_argument("--generations", type=int, default=170)
args = ap.parse_args()
leave = False


def on_signal(signum, frame):
    global leave
    leave = True
    print(f"caught signal {signum}, leaving after this generation")


signal.signal(signal.SIGUSR1, on_signal)


def fly(w, rng):
    h, v, gamma, dist = 50.0, 12.0, 0.0, 0.0
    w1, w2 = w[:12].reshape(4, 3), w[12:16]
    for _ in range(60):
        s = np.array([h / 50 - 1, v / 12 - 1, gamma])
        u = np.tanh(np.tanh(w1 @ s) @ w2) * 0.3
        v += 0.1 * (-9.81 * np.sin(gamma) - 0.004 * v * v * (1 + 20 * u * u))
        gamma += 0.1 * ((0.075 + u) * v - 9.81 / max(v, 1) * np.cos(gamma)) * 0.2
        gamma = np.clip(gamma + 0.002 * rng.normal(), -1.2, 1.2)
        h += 0.1 * v * np.sin(gamma)
        dist += 0.1 * v * np.cos(gamma)
        if h <= 0:
            break
    return dist - 0.5 * abs(h - 50)


if os.path.exists(args.state):
    z = np.load(args.state)
    mean, sigma, start = z["mean"], float(z["sigma"]), int(z["gen"])
    print(f"resuming from generation {start}")
else:
    mean, sigma, start = np.zeros(16), 0.5, 0
    print("fresh start")
rng = np.random.default_rng(start)
for gen in range(start + 1, args.generations + 1):
    cand = mean + sigma * rng.normal(size=(12, 16))
    score = np.array([fly(c, rng) for c in cand])
    best = cand[np.argsort(-score)[:4]]
    mean, sigma = best.mean(0), max(0.05, sigma * 0.99)
    time.sleep(0.3)
    if gen % 5 == 0 or leave:
        print(f"gen {gen:4d} fitness max {score.max():7.2f} mean {score.mean():7.2f} sigma {sigma:.3f}")
    if leave or gen % 25 == 0:
        np.savez("tmp.npz", mean=mean, sigma=sigma, gen=gen)
        os.replace("tmp.npz", args.state)
    if leave:
        sys.exit(85)
np.save("controller.npy", mean)
print("training complete")
