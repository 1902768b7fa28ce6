import glob
import hashlib
import json
import multiprocessing as mp
import os
import random
import time

WORDS = [hashlib.md5(str(i).encode()).hexdigest()[:5] for i in range(600)]


def shard(k):
    r = random.Random(k)
    good = bad = 0
    ids = []
    for doc in range(220):
        text = " ".join(r.choices(WORDS, k=30))
        raw = json.dumps({"text": text})
        if r.random() < 0.04:
            raw = raw[:-7]
        try:
            ids.append([WORDS.index(w) for w in json.loads(raw)["text"].split()])
            good += 1
        except json.JSONDecodeError:
            bad += 1
        time.sleep(0.04)
    with open(f"tok/{k:03d}.json", "w") as f:
        json.dump(ids, f)
    return k, good, bad


if __name__ == "__main__":
    os.makedirs("tok", exist_ok=True)
    print("preparing 12 shards with 3 processes (nothing is logged per document)", flush=True)
    t = time.time()
    with mp.Pool(3) as pool:
        good = bad = 0
        for k, g, b in pool.imap_unordered(shard, range(12)):
            good, bad = good + g, bad + b
    print(f"prepared {len(glob.glob('tok/*.json'))} shards, {good} documents kept, {bad} dropped (JSONDecodeError), {time.time() - t:.0f}s", flush=True)
