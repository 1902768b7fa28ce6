import os, random
random.seed(2)
os.makedirs("shards", exist_ok=True)
W = "alpha beta gamma delta we they run stop green light dark sea wind of on at to".split()
for p in range(4):
    docs = [" ".join(random.choice(W) for _ in range(random.randint(3, 9))) for _ in range(720)]
    if p == 3:
        for i in range(0, 720, 8):
            docs[i] = ""
    open(f"shards/part-{p}.txt", "w").write("\n".join(docs) + "\n")
