import json
import os

import numpy as np

os.makedirs("shards", exist_ok=True)
rng = np.random.default_rng(0)
names = [f"shard-{k:05d}-of-00012.npy" for k in range(12)]
for n in names[:7] + names[8:]:                 # one upload of the tokenising job never arrived
    np.save(f"shards/{n}", ((rng.integers(0, 97, (192, 1)) + np.arange(21)) % 97).astype("i4"))
with open("shards/manifest.json", "w") as f:
    json.dump(names, f)
