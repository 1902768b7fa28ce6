"""Stands for the download: raw pages, one JSON a line, with the dirt that a crawl has."""
import json
import random

rng = random.Random(21)
words = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(2, 8))) for _ in range(900)]
with open("pages.jsonl", "wb") as f:
    for i in range(560):
        line = json.dumps({"url": f"https://site{rng.randrange(40)}.example/p/{i}",
                           "text": " ".join(rng.choices(words, k=rng.randint(60, 200)))}).encode()
        r = rng.random()
        if r < 0.015:
            line = line[: rng.randint(30, 200)]                       # cut off
        elif r < 0.03:
            line = line[:60] + b"\xe9\xfe" + line[60:]                # latin-1 in utf-8
        elif r < 0.035:
            line = b""
        f.write(line + b"\n")
