import argparse
from pathlib import Path

import numpy as np

SEP = 512  # <sep>, <doc>, <end> follow after the vocabulary
VOCAB = 512

p = argparse.ArgumentParser()
p.add_argument("--out", type=Path)
p.add_argument("--shards", type=int)
a = p.parse_args()
a.out.mkdir(parents=True, exist_ok=True)
rng = np.random.default_rng(11)
length = [400, 380, 350, 420, 390, 2600, 2200, 400][: a.shards]
for i, mean in enumerate(length):
    docs, total = [], 0
    while total < 12000:
        n = int(rng.poisson(mean))
        doc = rng.zipf(1.4, n).clip(1, VOCAB - 1)
        if n > 1024:  # long documents are cut in sections
            doc[::1024] = SEP
        docs.append(doc)
        total += n
    np.savez(a.out / f"shard_{i:02d}.npz", tokens=np.concatenate(docs)[:12000].astype(np.int64))
