#!/usr/bin/env python3
"""2D XY model, Metropolis sweeps with numpy; angles are kept for the correlation analysis at the end."""
import sys
import time

import numpy as np

L, SWEEPS = 800, 600


def sweep(theta, beta, rng):
    moved = 0
    for colour in (0, 1):
        ii, jj = np.indices(theta.shape, sparse=True)
        mask = (ii + jj) % 2 == colour
        new = theta + rng.uniform(-0.8, 0.8, size=theta.shape)
        delta = np.zeros_like(theta)
        for axis in (0, 1):
            for shift in (1, -1):
                nb = np.roll(theta, shift, axis)
                delta += np.cos(theta - nb) - np.cos(new - nb)
        ok = mask & (np.log(rng.random(theta.shape)) < -beta * delta)
        theta = np.where(ok, new, theta)
        moved += int(ok.sum())
    return theta, moved / theta.size


def main():
    rng = np.random.default_rng(2024)
    theta = np.zeros((L, L))
    history = []
    print(f"XY lattice {L}x{L}, {SWEEPS} sweeps, beta 0.9")
    for n in range(1, SWEEPS + 1):
        theta, acc = sweep(theta, 0.9, rng)
        history.append(theta)
        if n % 5 == 0:
            m = np.hypot(np.cos(theta).mean(), np.sin(theta).mean())
            print(f"sweep {n:5d}   |m| {m:.4f}   acceptance {acc:.3f}")
            sys.stdout.flush()
        time.sleep(0.2)
    corr = np.mean([np.cos(h - np.roll(h, 1, 0)).mean() for h in history])
    print("nearest-neighbour correlation", corr)


if __name__ == "__main__":
    main()
