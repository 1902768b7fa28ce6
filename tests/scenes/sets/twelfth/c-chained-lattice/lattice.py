"""Restricted Boltzmann machine on configurations of the 2D Ising model, in segments."""
import argparse
import os
import signal
import sys
import time

import numpy as np

ap = argparse.ArgumentParser()
ap.add_argument("--until", type=int, default=900)
args = ap.parse_args()
stop = []
signal.signal(signal.SIGUSR1, lambda *_: stop.append(1))
L, H = 6, 20


def ising(rng, n, sweeps=12, beta=0.4):
    s = rng.choice([-1, 1], (n, L, L))
    mask = np.indices((L, L)).sum(0) % 2
    for k in range(2 * sweeps):
        nb = sum(np.roll(s, d, ax) for d in (1, -1) for ax in (1, 2))
        up = rng.random(s.shape) < 1 / (1 + np.exp(-2 * beta * nb))
        s = np.where(mask == k % 2, np.where(up, 1, -1), s)
    return (s.reshape(n, -1) + 1) / 2


sig = lambda z: 1 / (1 + np.exp(-z))
if os.path.exists("rbm.npz"):
    z = np.load("rbm.npz")
    w, b, c, start = z["w"], z["b"], z["c"], int(z["step"])
    print(f"resumed from rbm.npz at step {start}")
else:
    w, b, c, start = 0.01 * np.random.default_rng(0).normal(size=(L * L, H)), np.zeros(L * L), np.zeros(H), 0
    print("no checkpoint, starting at step 0")
rng = np.random.default_rng(1000 + start)
for step in range(start + 1, args.until + 1):
    v = ising(rng, 32)
    h = sig(v @ w + c)
    hs = (rng.random(h.shape) < h) * 1.0
    v2 = sig(hs @ w.T + b)
    h2 = sig(v2 @ w + c)
    w += 0.05 * (v.T @ h - v2.T @ h2) / 32
    b += 0.05 * (v - v2).mean(0)
    c += 0.05 * (h - h2).mean(0)
    time.sleep(0.08)
    if step % 10 == 0:
        print(f"step {step}/{args.until} recon_error {((v - v2) ** 2).mean():.5f} |w| {np.abs(w).mean():.4f}")
    if stop or step == args.until:
        np.savez("rbm.tmp.npz", w=w, b=b, c=c, step=step)
        os.replace("rbm.tmp.npz", "rbm.npz")
        print(f"saved rbm.npz at step {step}")
    if stop and step < args.until:
        print("USR1: leaving for the requeue")
        sys.exit(85)
print("reached the last step")
