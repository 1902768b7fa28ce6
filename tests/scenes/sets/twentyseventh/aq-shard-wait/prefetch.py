"""Fetches the shards from the store one after another into cache/, a few ahead of the trainers."""
import os
import pathlib
import time

import numpy as np

cache = pathlib.Path("cache")
cache.mkdir(exist_ok=True)
open("prefetch.pid", "w").write(str(os.getpid()))
table = np.random.default_rng(1).integers(0, 200, (200, 3))
for s in range(40):
    r = np.random.default_rng(50 + s)
    x = np.empty(12000, dtype=np.uint16)
    x[0] = 0
    pick = r.integers(0, 3, len(x))
    with open(cache / f"shard_{s:03d}.part", "wb") as f:
        for i in range(1, len(x)):
            x[i] = table[x[i - 1], pick[i]]
            if i % 3000 == 0:
                f.write(x[i - 3000:i].tobytes())
                if s > 3:
                    time.sleep(1.8)  # the line to the store
        f.write(x[9000:].tobytes())
    os.rename(cache / f"shard_{s:03d}.part", cache / f"shard_{s:03d}.bin")
    print(time.strftime("%T"), f"fetched shard_{s:03d}.bin", flush=True)
