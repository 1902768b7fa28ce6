"""Item-item counts, nothing learned."""
import sys
import time
import numpy as np

rng = np.random.default_rng(5)
c = np.zeros((400, 400))
for day in range(6):
    a = rng.integers(0, 400, (3000, 2))
    np.add.at(c, (a[:, 0], a[:, 1]), 1.0)
    if "--decay" in sys.argv:
        c *= 0.9
    print(f"covisit: day {day + 1}/6 pairs={int((c > 0).sum())}", flush=True)
    time.sleep(0.5)
