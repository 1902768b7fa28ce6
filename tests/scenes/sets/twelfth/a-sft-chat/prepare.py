"""Writes chats.jsonl, sorted by length so that a batch needs little padding."""
import json, random
random.seed(11)
W = "the a my red old small dog cat house river walks sees likes eats finds bread water stone under over near".split()
s = lambda n: " ".join(random.choice(W) for _ in range(n))
rows = [{"prompt": f"user: {s(random.randint(2, 7))}?\n", "answer": f"bot: {s(random.randint(3, 9))}.\n"} for _ in range(560)]
rows += [{"prompt": f"user: summarize: {s(random.randint(36, 60))}\n", "answer": f"bot: {s(6)}.\n"} for _ in range(120)]
rows.sort(key=lambda r: len(r["prompt"]) + len(r["answer"]))
with open("chats.jsonl", "w") as f:
    for r in rows:
        f.write(json.dumps(r) + "\n")
print(f"prepare: {len(rows)} chats")
