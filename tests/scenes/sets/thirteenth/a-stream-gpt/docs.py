import json, os, random


def write(folder="corpus", shards=5, per=400):
    os.makedirs(folder, exist_ok=True)
    rng = random.Random(8)
    w = "when where the war peace king queen said went home again under sky grey rain letter never".split()
    for s in range(shards):
        key = "text" if s < 2 else "content"
        with open(f"{folder}/{s:03d}.jsonl", "w") as f:
            for i in range(per if s < 2 else 20 * per):
                f.write(json.dumps({"id": f"{s}-{i}", key: " ".join(rng.choice(w) for _ in range(30))}) + "\n")


def stream(log, folder="corpus"):
    """Texts of all shards, without end."""
    while True:
        for name in sorted(os.listdir(folder)):
            log.info("open %s", name)
            for line in open(f"{folder}/{name}"):
                doc = json.loads(line)
                try:
                    yield doc["text"]
                except KeyError as e:
                    log.warning("doc %s skipped: KeyError(%s)", doc["id"], e)
                    import time
                    time.sleep(0.1)  # do not flood the log
