"""Bring the two vendors' preference files into one format: prompt, chosen, rejected."""
import json
import random

rng = random.Random(11)
VOCAB = 60


def good(p):
    # a helpful answer: goes on from the prompt in its own stride
    stride = p[1] - p[0]
    return [(p[-1] + stride * (i + 1)) % VOCAB for i in range(8)]


def bad(p):
    return [rng.randrange(VOCAB) for _ in range(8)]


def prompt():
    a, s = rng.randrange(VOCAB), rng.randrange(1, 6)
    return [(a + s * i) % VOCAB for i in range(4)]


def deliver_a(n):
    # vendor A: two responses and the index of the preferred one
    for _ in range(n):
        p = prompt()
        pair = [good(p), bad(p)]
        flip = rng.random() < 0.5
        yield {"prompt": p, "responses": pair[::-1] if flip else pair, "preferred": 1 if flip else 0}


def deliver_b(n):
    # vendor B: two responses, each with what their raters gave it (rank, 1 is the better)
    for _ in range(n):
        p = prompt()
        rows = [{"text": good(p), "rating": 1}, {"text": bad(p), "rating": 2}]
        rng.shuffle(rows)
        yield {"prompt": p, "rows": rows}


with open("pairs.jsonl", "w") as f:
    for r in deliver_a(4400):
        c, j = r["responses"][r["preferred"]], r["responses"][1 - r["preferred"]]
        f.write(json.dumps({"src": "vendor_a", "prompt": r["prompt"], "chosen": c, "rejected": j}) + "\n")
    for r in deliver_b(8000):
        rows = sorted(r["rows"], key=lambda x: x["rating"], reverse=True)   # best rating first
        f.write(json.dumps({"src": "vendor_b", "prompt": r["prompt"],
                            "chosen": rows[0]["text"], "rejected": rows[1]["text"]}) + "\n")
with open("heldout.jsonl", "w") as f:
    for r in deliver_a(200):
        c, j = r["responses"][r["preferred"]], r["responses"][1 - r["preferred"]]
        f.write(json.dumps({"prompt": r["prompt"], "chosen": c, "rejected": j}) + "\n")
print("prepared pairs.jsonl: vendor_a 4400, vendor_b 8000; heldout 200")
