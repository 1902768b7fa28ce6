"""Random-feature regression on buoy observations, straight numpy, data read through a memmap."""
import csv
import sys
import time

import numpy as np

ITERS = 1200
BATCH = 512
FEATURES = 400


def main(path):
    obs = np.memmap(path, dtype="float32", mode="r").reshape(-1, 16)
    print(f"{len(obs)} observations from {path}")
    rng = np.random.default_rng(3)
    proj = rng.normal(size=(15, FEATURES)) * 0.4
    phase = rng.uniform(0, 2 * np.pi, size=FEATURES)
    w = np.zeros(FEATURES)
    m = np.zeros(FEATURES)
    scale = np.sqrt(2.0 / FEATURES)
    log = open("fit.csv", "w", newline="", buffering=1)
    out = csv.writer(log)
    out.writerow(["iter", "mse", "r2", "weight_norm", "seconds"])
    t0 = time.time()
    for it in range(1, ITERS + 1):
        rows = obs[np.sort(rng.integers(0, len(obs), size=BATCH))]
        x, y = rows[:, :15].astype("float64"), rows[:, 15].astype("float64")
        phi = scale * np.cos(x @ proj + phase)
        err = phi @ w - y
        m = 0.9 * m + phi.T @ err / BATCH
        w -= 0.5 * m
        time.sleep(0.08)
        if it % 10 == 0:
            mse = float(np.mean(err ** 2))
            out.writerow([it, f"{mse:.6f}", f"{1 - mse / y.var():.4f}", f"{np.linalg.norm(w):.4f}", f"{time.time() - t0:.1f}"])
        if it % 50 == 0:
            print(f"iter {it:5d}  mse {mse:.4f}")
        if it % 400 == 0:
            np.savez(f"weights_{it}.npz", w=w, proj=proj, phase=phase)
    print("fit done")


if __name__ == "__main__":
    main(sys.argv[1])
