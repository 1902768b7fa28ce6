"""Streams documents and keeps the token ids of each in the node's scratch, so that the second epoch is cheap."""
import hashlib
import os
import random

import numpy as np

SUBJ = ["the court", "a tenant", "the lender", "this agreement", "the supplier", "an auditor", "the board"]
ACT = ["shall notify", "may terminate", "must indemnify", "agrees with", "is bound by", "has waived", "pays"]
OBJ = ["the other party", "clause nine", "all fees due", "the notice period", "any prior claim", "the annex"]


def documents(seed=0):
    rng = random.Random(seed)
    while True:
        yield " . ".join(f"{rng.choice(SUBJ)} {rng.choice(ACT)} {rng.choice(OBJ)}" for _ in range(rng.randint(4, 9)))


class TokenCache:
    def __init__(self, root, tok):
        self.root, self.tok = root, tok
        self.hits = self.misses = 0

    def __call__(self, text):
        key = hashlib.sha1(text.encode()).hexdigest()
        path = os.path.join(self.root, key[:1], key + ".npy")
        if os.path.exists(path):
            self.hits += 1
            return np.load(path)
        ids = np.asarray(self.tok(text), dtype=np.uint16)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            np.save(f, ids)
        self.misses += 1
        return ids
