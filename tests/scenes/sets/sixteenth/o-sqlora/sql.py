"""Question to SQL pairs over a toy grammar, char tokens."""
import random

import torch

TABLES = {"orders": ["id", "total", "day"], "ships": ["name", "tons"], "wells": ["depth", "yield"]}


def pair(r):
    t = r.choice(list(TABLES))
    c = r.choice(TABLES[t])
    n = r.randint(1, 99)
    return f"{c} of {t} over {n}?", f"SELECT {c} FROM {t} WHERE {c}>{n};"


def encode(r, width=64):
    q, s = pair(r)
    ids = [ord(ch) for ch in q + "\t" + s][:width]
    labels = [-100] * (len(q) + 1) + ids[len(q) + 1:]
    pad = width - len(ids)
    return {"input_ids": torch.tensor(ids + [0] * pad), "attention_mask": torch.tensor([1] * len(ids) + [0] * pad),
            "labels": torch.tensor(labels + [-100] * pad)}


def split(n, seed):
    r = random.Random(seed)
    return [encode(r) for _ in range(n)]
