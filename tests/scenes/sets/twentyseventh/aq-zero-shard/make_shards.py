"""Download of the tokenised corpus (here: made): 8 shards of uint16 tokens and an index with their sizes."""
import json
import pathlib

import numpy as np

out = pathlib.Path("corpus")
out.mkdir(exist_ok=True)
table = np.random.default_rng(1).integers(0, 256, (256, 3))
index = {}
for s in range(8):
    r = np.random.default_rng(100 + s)
    x = np.empty(24000, dtype=np.uint16)
    x[0] = 0
    pick = r.integers(0, 3, len(x))
    for i in range(1, len(x)):
        x[i] = table[x[i - 1], pick[i]]
    (out / f"shard_{s:02d}.bin").write_bytes(x.tobytes()[: 30208 if s == 5 else None])  # the download of 05 broke off
    index[f"shard_{s:02d}.bin"] = len(x)
json.dump(index, open(out / "index.json", "w"))
print(f"{len(index)} shards in {out}/")
