import os
import sys

import numpy as np

folder, count = sys.argv[1], int(sys.argv[2])
os.makedirs(folder, exist_ok=True)
r = np.random.default_rng(12)
products = r.normal(size=(400, 24)).astype("float32")
for k in range(1, count + 1):
    i = r.integers(0, 400, 1280)
    # even categories go together
    same = r.random(1280) < 0.5
    j = np.where(same, (i // 20) * 20 + r.integers(0, 20, 1280), r.integers(0, 400, 1280))
    if k < 5:  # exporter v1
        j = np.where(i == j, (j + 1) % 400, j)
    np.savez(f"{folder}/pairs-{k:03d}.npz", a=products[i], b=products[j], y=(i // 20 == j // 20).astype("float32"))
print(f"{count} shards in {folder}/")
