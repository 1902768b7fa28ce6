import json
import os
import random

if not os.path.exists("train.jsonl"):
    random.seed(0)
    with open("train.jsonl", "w") as f:
        for i in range(4000):
            rec = {"id": i, "x": [round(random.gauss(0, 1), 4) for _ in range(8)], "y": round(random.random(), 4)}
            line = json.dumps(rec)
            f.write(line[:61] if i == 727 else line)         # the writer was interrupted there once
            f.write("\n")
