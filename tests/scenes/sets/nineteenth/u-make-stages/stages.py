import json, random, shutil, sys, time
what = sys.argv[1]
if what == "corpus":
    random.seed(1)
    w = ["".join(random.choices("etaoinshrdlu", k=random.randint(2, 6))) for _ in range(80)]
    with open("out/corpus.txt", "w") as f:
        for shard in range(8):
            for _ in range(200):
                f.write(" ".join(random.choices(w, k=9)) + "\n")
            print(f"shard {shard + 1}/8 written"); time.sleep(0.6)
elif what == "vocab":
    cs = sorted(set(open("out/corpus.txt").read()))
    time.sleep(4)
    json.dump(cs, open("out/vocab.json", "w")); print("vocab size", len(cs))
else:
    time.sleep(3)
    shutil.copy("out/model.pt", "out/model.export.tmp"); import os; os.rename("out/model.export.tmp", "out/model.export")
    print("exported", os.path.getsize("out/model.export"), "bytes")
