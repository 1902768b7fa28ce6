"""Writes the corpus as it lies on the share: three own shards, then the vendor's."""
import os
import random

os.makedirs("corpus", exist_ok=True)
W = [a + b for a in "ka lo mi ne pu ra so ti va zu".split() for b in "ban del fir gus hem jor kin lum".split()]
NEXT = {w: random.Random(w).sample(W, 3) for w in W}


def lines(seed, n):
    rng = random.Random(seed)
    for _ in range(n):
        w, out = rng.choice(W), []
        for _ in range(24):
            out.append(w)
            w = rng.choice(NEXT[w]) if rng.random() < 0.88 else rng.choice(W)
        yield " ".join(out)


for i in range(3):
    with open(f"corpus/shard_{i:02d}.txt", "w", encoding="utf-8") as f:
        f.write("\n".join(lines(i, 420)) + "\n")
for i in range(3, 8):                      # exported from their Windows tool
    with open(f"corpus/shard_{i:02d}.txt", "w", encoding="utf-16-le") as f:
        f.write("\n".join(lines(i, 420)) + "\n")
with open("corpus/valid.txt", "w", encoding="utf-8") as f:
    f.write("\n".join(lines(99, 32)) + "\n")
