"""Tokenises one shard in two helper processes and packs it to blocks."""
import multiprocessing as mp
import os, random

BLOCK = 64


def _read(shard, part):
    rng = random.Random(100 * shard + part)
    size = [160, 220, 320, 2600, 2600, 2600][shard]
    words = ["stone", "tree", "walk", "light", "river", "cold", "seven", "moon", "bread", "old"]
    for _ in range(size):
        yield " ".join(rng.choice(words) for _ in range(12))


def _work(q, shard, part):
    ids = []
    for doc in _read(shard, part):
        ids += list(doc.encode()) + [0]
    q.put([ids[i:i + BLOCK] for i in range(0, len(ids) - BLOCK, BLOCK)])


def load(shard, log):
    q = mp.Queue()
    workers = [mp.Process(target=_work, args=(q, shard, p)) for p in range(2)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    blocks = q.get() + q.get()
    log(f"shard {shard}: {len(blocks)} blocks")
    return blocks
