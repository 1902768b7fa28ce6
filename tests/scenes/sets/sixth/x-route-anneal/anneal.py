"""Delivery routes by simulated annealing with reheats, numpy only. Stops when three reheats in a row bring nothing."""
import json
import math
import os
import time

import numpy as np

STOPS = 70
SWEEP = 2500       # proposals a line
LINES = 8          # lines a cooling
MAX_REHEATS = 14


def delta(d, tour, i, j):
    a, b, c, e = tour[i - 1], tour[i], tour[j], tour[(j + 1) % len(tour)]
    return d[a, c] + d[b, e] - d[a, b] - d[c, e]


def length(d, tour):
    return float(d[tour, np.roll(tour, -1)].sum())


def main():
    rng = np.random.default_rng(31)
    xy = rng.uniform(0, 100, size=(STOPS, 2))
    d = np.sqrt(((xy[:, None] - xy[None]) ** 2).sum(-1))
    tour = rng.permutation(STOPS)
    now = length(d, tour)
    best, best_tour, idle = now, tour.copy(), 0
    print(f"{STOPS} stops, random route {now:.1f} km", flush=True)
    for heat in range(MAX_REHEATS):
        temp = 30.0 if heat == 0 else 12.0
        before = best
        if heat:
            print("reheating", flush=True)
        for _ in range(LINES):
            taken = 0
            ij = np.sort(rng.integers(1, STOPS, size=(SWEEP, 2)), axis=1)
            luck = rng.random(SWEEP)
            for (i, j), u in zip(ij.tolist(), luck.tolist()):
                if i == j:
                    continue
                diff = delta(d, tour, i, j)
                if diff < 0 or u < math.exp(-diff / temp):
                    tour[i:j + 1] = tour[i:j + 1][::-1]
                    now += diff
                    taken += 1
                    if now < best - 1e-9:
                        best, best_tour = now, tour.copy()
            print(f"T={temp:7.3f}  energy={now:10.3f}  best={best:10.3f}  accepted={100 * taken / SWEEP:5.1f}%", flush=True)
            temp *= 0.45
            time.sleep(0.85)
        with open("route.json.tmp", "w") as f:
            json.dump({"km": best, "route": best_tour.tolist()}, f)
        os.replace("route.json.tmp", "route.json")
        idle = idle + 1 if before - best < 0.5 else 0
        if idle == 3:
            print(f"no gain in 3 reheats, stopping early with {best:.1f} km", flush=True)
            return
    print(f"all reheats used, {best:.1f} km", flush=True)


if __name__ == "__main__":
    main()
