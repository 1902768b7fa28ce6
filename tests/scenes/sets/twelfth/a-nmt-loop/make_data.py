import os, random
random.seed(4)
os.makedirs("data", exist_ok=True)
DE = "haus baum fluss größe straße mädchen tür über schön läuft sieht kauft".split()
EN = "house tree river size street girl door over pretty runs sees buys".split()
for s in range(8):
    rows = []
    for _ in range(240):
        k = [random.randrange(12) for _ in range(random.randint(3, 8))]
        rows.append(" ".join(DE[i] for i in k) + "\t" + " ".join(EN[i] for i in k))
    # shard 4 came from the old server
    open(f"data/de-en.{s}.tsv", "wb").write("\n".join(rows).encode("latin-1" if s == 4 else "utf-8") + b"\n")
