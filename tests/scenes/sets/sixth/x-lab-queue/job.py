"""One queue job: fit a small forecaster for one meter. Exit 0 = fitted, 3 = nothing new in the data, leave the old model."""
import json
import sys
import time

import numpy as np


def main(path):
    with open(path) as f:
        cfg = json.load(f)
    print(f"    meter {cfg['meter']}: {cfg['days']} days since the last fit", flush=True)
    if cfg["days"] == 0:
        print("    nothing new, keeping the old model", flush=True)
        return 3
    rng = np.random.default_rng(cfg["meter"])
    x = rng.normal(size=(cfg["days"] * 24, 12))
    y = x @ rng.normal(size=12) + 0.3 * rng.normal(size=len(x))
    w = np.zeros(12)
    for epoch in range(cfg["epochs"]):
        for part in np.array_split(rng.permutation(len(x)), 10):
            w -= 0.05 * x[part].T @ (x[part] @ w - y[part]) / len(part)
            time.sleep(0.1)
        print(f"    epoch {epoch + 1}/{cfg['epochs']} rmse {np.sqrt(np.mean((x @ w - y) ** 2)):.4f}", flush=True)
    np.save(f"models/meter_{cfg['meter']}.npy", w)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
