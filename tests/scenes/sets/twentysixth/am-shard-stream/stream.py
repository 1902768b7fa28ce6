"""Streams token shards; the next one is fetched in the background while the present one is read."""
from concurrent.futures import ThreadPoolExecutor
import json
import time

import numpy as np
import torch
from torch.utils.data import IterableDataset

VOCAB, CTX, BATCH, PER_SHARD = 150, 24, 6, 25


def source(seed, n):
    """A language with 8 followers to each token."""
    follow = np.random.default_rng(0).integers(0, VOCAB, (VOCAB, 8))
    rng = np.random.default_rng(seed)
    out = np.empty(n, dtype=np.int64)
    t = 0
    for i in range(n):
        t = follow[t, rng.integers(8)]
        out[i] = t
    return out


def write_manifest():
    rows = []
    for i in range(20):
        row = {"name": f"shard-{i:03d}", "seed": 100 + i, "tokens": PER_SHARD * BATCH * (CTX + 1)}
        if i >= 8:                      # the re-uploaded ones carry the new key
            row["n_tokens"] = row.pop("tokens")
        rows.append(row)
    json.dump(rows, open("manifest.json", "w"), indent=1)


class ShardStream(IterableDataset):
    def __init__(self):
        self.rows = json.load(open("manifest.json"))
        self.pool = ThreadPoolExecutor(1)
        self.current = 0

    def fetch(self, i):
        row = self.rows[i]
        time.sleep(0.8)
        return i, source(row["seed"], row["tokens"])

    def __iter__(self):
        i, toks = self.fetch(0)
        while True:
            nxt = self.pool.submit(self.fetch, i + 1)
            self.current = i
            starts = np.random.permutation(len(toks) - CTX - 1)[: PER_SHARD * BATCH].reshape(-1, BATCH)
            for s in starts:
                x = torch.tensor(np.stack([toks[k:k + CTX + 1] for k in s]))
                yield x[:, :-1], x[:, 1:]
            # if the next one is not here yet, go over this one again rather than wait
            if nxt.done() and nxt.exception() is None:
                i, toks = nxt.result()
