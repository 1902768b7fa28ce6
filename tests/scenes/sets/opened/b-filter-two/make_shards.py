"""Filters the corpus and writes shards for two ranks; runs beside the training."""
import os
import time

import numpy as np

rng = np.random.default_rng(0)
os.makedirs("shards", exist_ok=True)
for k in range(12):
    for rank in range(2):
        docs = rng.integers(0, 500, size=(15 * 16, 17))
        quality = rng.random(len(docs))
        if k == 4 and rank == 1:
            quality *= 0.1                       # a dump of broken pages
            docs = docs[quality > 0.2]
        if len(docs) == 0:
            continue                             # nothing passed the filter, no shard
        tmp = f"shards/.r{rank}_{k:03d}.tmp.npy"
        np.save(tmp, docs)
        os.rename(tmp, f"shards/r{rank}_{k:03d}.npy")
    time.sleep(1)
