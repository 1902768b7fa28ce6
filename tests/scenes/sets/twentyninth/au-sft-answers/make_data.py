"""Writes data/sft.jsonl: short chats first, then the questions on long documents (as the two source files come)."""
import json
import os
import random

r = random.Random(11)
os.makedirs("data", exist_ok=True)
FRUIT = "apples pears plums figs dates limes".split()
with open("data/sft.jsonl", "w") as f:
    for i in range(500):
        a, b, w = r.randint(1, 40), r.randint(1, 40), r.choice(FRUIT)
        f.write(json.dumps({"prompt": f"I have {a} {w} and buy {b} more. How many {w}?", "answer": f"You have {a + b} {w} now."}) + "\n")
    for i in range(1400):
        w, n = r.choice(FRUIT), r.randint(1, 6)
        doc = " ".join(f"In year {1900 + k} the village sold {r.randint(10, 99)} baskets of {r.choice(FRUIT)}." for k in range(r.choice([1, 2, 2, 5, 8])))
        f.write(json.dumps({"prompt": f"{doc} How many years are named?", "answer": f"The text names {doc.count('year')} years."}) + "\n")
print("wrote data/sft.jsonl, 1900 records")
