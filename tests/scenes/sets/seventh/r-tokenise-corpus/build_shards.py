"""Tokenises the corpus with a pool of processes and writes shards of fixed size, in order."""
import multiprocessing as mp
import os
import random
import sys
import time
from collections import Counter

from tqdm import tqdm

DOCS = 2400
SHARD = 400


def fake_text(i):
    rnd = random.Random(i)
    return " ".join(rnd.choice("lorem ipsum dolor sit amet consectetur adipiscing elit sed do".split()) for _ in range(rnd.randint(40, 400)))


def init(folder):
    with open(f"{folder}/worker_{os.getpid()}", "w") as f:
        f.write("")


def encode(i):
    words = fake_text(i).split()
    time.sleep(0.04 + 0.0003 * len(words))
    c = Counter(words)
    order = {w: k for k, (w, _) in enumerate(c.most_common())}
    return [order[w] for w in words]


def main():
    os.makedirs("state", exist_ok=True)
    os.makedirs("shards", exist_ok=True)
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    total, buf, k = 0, [], 0
    with mp.Pool(n, initializer=init, initargs=("state",)) as pool:
        bar = tqdm(pool.imap(encode, range(DOCS), chunksize=8), total=DOCS, unit="doc", desc="tokenise", mininterval=1.0)
        for ids in bar:
            total += len(ids)
            buf.append(ids)
            if len(buf) == SHARD:
                with open(f"shards/part-{k:03d}.txt", "w") as f:
                    f.writelines(" ".join(map(str, b)) + "\n" for b in buf)
                tqdm.write(f"part-{k:03d} written, {total} tokens so far")
                buf, k = [], k + 1
    print(f"{k} shards, {total} tokens")


if __name__ == "__main__":
    main()
