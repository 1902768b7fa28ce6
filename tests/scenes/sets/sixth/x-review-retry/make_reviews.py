"""The review dump as we get it: one JSON object a line, latin and utf-8 from different shops."""
import json
import random
import sys

random.seed(12)
GOOD = "solid great lovely perfect fast sturdy happy again quality recommend".split()
BAD = "broken late poor refund cheap noise awful never returned scratched".split()
FILL = "the box came with a cable and the colour was blue in my kitchen for two weeks".split()
n = int(sys.argv[1])
with open("reviews.jsonl", "wb") as f:
    for i in range(n):
        stars = random.choice([1, 2, 4, 5])
        words = random.choices(GOOD if stars > 3 else BAD, k=3) + random.choices(FILL, k=9)
        random.shuffle(words)
        row = {"id": i, "stars": stars, "text": " ".join(words)}
        if i == 2075:
            row["text"] = "caf\u00e9 table, " + row["text"]
            f.write(json.dumps(row, ensure_ascii=False).encode("latin-1") + b"\n")
        else:
            f.write(json.dumps(row).encode("utf-8") + b"\n")
