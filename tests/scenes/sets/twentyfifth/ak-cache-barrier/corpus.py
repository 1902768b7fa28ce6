"""Text shards (synthetic court rulings) and their token cache."""
import os
import random
import time

import torch

VOCAB = 96
CACHE = "token_cache"


def path_of(i):
    return os.path.join(CACHE, f"shard-{i:02d}.pt")


def tokenise(i, pause=0.0):
    os.makedirs(CACHE, exist_ok=True)
    rng = random.Random(i)
    table = [random.Random(1000 + v).sample(range(VOCAB), 4) for v in range(VOCAB)]
    out, v = [], 0
    for n in range(20000):
        v = rng.choice(table[v]) if rng.random() < 0.9 else rng.randrange(VOCAB)
        out.append(v)
        if pause and n % 4000 == 0:
            time.sleep(pause)
    tmp = path_of(i) + ".tmp"
    torch.save(torch.tensor(out), tmp)
    os.replace(tmp, path_of(i))
    return path_of(i)
