"""Manifest of 10 shards; two of them are here, the sync of the others is still to come."""
import json
import os
import random

random.seed(8)
os.makedirs("shards", exist_ok=True)
names = [f"shards/part-{i:02d}.txt" for i in range(10)]
json.dump({"shards": names}, open("manifest.json", "w"))
for name in names[:2]:
    with open(name, "w") as f:
        for _ in range(800):
            w = "".join(random.choices("abcdefghij ", k=6))
            f.write((w * 8)[:48] + "\n")
