"""The forum dump as JSON lines on stdout, as the crawler left it: now and then a line is not whole."""
import json
import random
import sys

rng = random.Random(21)
for i in range(3400):
    t = " ".join(rng.choice(["my", "gpu", "fan", "is", "loud", "try", "this", "patch", "thanks", "it", "works", "again", "kernel", "version"]) if rng.random() < 0.3
                 else ["try", "this", "patch", "it", "works", "thanks"][j % 6] for j in range(rng.randint(8, 20)))
    line = json.dumps({"id": i, "user": f"u{rng.randrange(300)}", "text": t + (" <b>edited</b>" if rng.random() < 0.1 else "")})
    if rng.random() < 0.012:
        line = line[: rng.randrange(10, len(line) - 5)]
    sys.stdout.write(line + "\n")
