"""A local mirror of the corpus: text shards with a manifest of md5 sums."""
import hashlib
import os
import random

rng = random.Random(11)
os.makedirs("mirror", exist_ok=True)
with open("mirror/MANIFEST", "w") as man:
    for k in range(18):
        lines = []
        for _ in range(200):
            a, b = rng.choice(["sun", "rain", "wind", "snow", "fog"]), rng.choice(["north", "south", "coast", "hills"])
            lines.append(f"{a} is expected in the {b} with {rng.randrange(30)} degrees at {rng.choice(['noon', 'dawn', 'night'])}")
        data = ("\n".join(lines) + "\n").encode()
        man.write(f"{hashlib.md5(data).hexdigest()}  shard-{k:03d}.txt\n")
        if k == 9:
            data = data[: len(data) // 2]  # the mirror's copy of this one is not whole
        with open(f"mirror/shard-{k:03d}.txt", "wb") as f:
            f.write(data)
