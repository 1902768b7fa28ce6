"""Conversations to token ids. Prompt tokens get the label -100, as only the answers are to be learned."""
import json
import random

rng = random.Random(12)
T, V = 48, 160
nxt = [[rng.randrange(4, V) for _ in range(3)] for _ in range(V)]


def chain(n):
    x = [rng.randrange(4, V)]
    while len(x) < n:
        x.append(rng.choice(nxt[x[-1]]))
    return x


with open("sft.jsonl", "w") as f:
    for i in range(2400):
        n = rng.randint(6, 24)
        if i in (770, 1210, 1544, 2051):
            n = rng.randint(60, 110)  # people paste whole log files
        prompt, answer = [1] + chain(n) + [2], chain(rng.randint(12, 30)) + [3]
        ids, labels = (prompt + answer)[:T], ([-100] * len(prompt) + answer)[:T]
        f.write(json.dumps({"ids": ids, "labels": labels}) + "\n")
print("sft.jsonl: 2400 conversations")
