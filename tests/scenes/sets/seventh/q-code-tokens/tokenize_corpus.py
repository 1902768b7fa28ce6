"""Tokenise the corpus with a few processes and write packed blocks. Runs once, before the training."""
import hashlib
import os
import time
from multiprocessing import Pool

import numpy as np
from tqdm import tqdm

WORDS = "def return self import for in if else while try except class lambda None True False x y z i j k n m".split()
DOCS, BLOCK = 1400, 32


def document(i):
    rng = np.random.default_rng(i)
    return " ".join(WORDS[k] for k in np.minimum(rng.geometric(0.15, 260), len(WORDS)) - 1)


def encode(i):
    ids = [0]
    for w in document(i).split():
        ids.append(1 + int(hashlib.md5(w.encode()).hexdigest(), 16) % 199)
    time.sleep(0.06)
    return np.array(ids, dtype=np.uint16)


if __name__ == "__main__":
    os.makedirs("packed", exist_ok=True)
    with Pool(2) as pool:
        parts = list(tqdm(pool.imap(encode, range(DOCS), chunksize=8), total=DOCS, desc="Running tokenizer on dataset (num_proc=2)", unit=" examples"))
    ids = np.concatenate(parts)
    n = len(ids) // BLOCK
    np.save("packed/train.npy", ids[:n * BLOCK].reshape(n, BLOCK))
    print(f"Grouping texts in chunks of {BLOCK}: {n} blocks, {n * BLOCK} tokens -> packed/train.npy", flush=True)
