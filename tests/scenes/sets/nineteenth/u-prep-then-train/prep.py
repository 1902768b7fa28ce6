import json, logging, random, time
import numpy as np
logging.basicConfig(level=logging.INFO, format="[%(asctime)s][prep][%(levelname)s] %(message)s")
random.seed(0); rng = np.random.default_rng(0)
with open("raw.jsonl", "w") as f:
    for i in range(3000):
        s = json.dumps({"id": i, "x": rng.normal(size=6).round(3).tolist(), "y": int(rng.integers(0, 2))})
        f.write((s[:len(s) // 2] if random.random() < .004 else s) + "\n")
rows, bad = [], 0
for n, line in enumerate(open("raw.jsonl"), 1):
    try:
        r = json.loads(line); r["y"] = int(r["x"][0] + r["x"][1] > 0); rows.append(r)
    except json.JSONDecodeError as e:
        bad += 1; logging.warning("raw.jsonl:%d: skipped, %s", n, e)
    if n % 500 == 0: logging.info("%d records read, %d skipped", n, bad); time.sleep(.8)
logging.info("global shuffle and near-duplicate removal, takes a while")
t = time.time()
X = np.array([r["x"] for r in rows])
keep = []
for i in range(len(rows)):
    d = np.abs(X[:i] - X[i]).sum(1).min() if i else 9
    if d > 1e-6: keep.append(i)
    if i % 100 == 0: time.sleep(.5)
random.shuffle(keep)
np.savez("train.npz", X=X[keep], y=np.array([rows[i]["y"] for i in keep]))
logging.info("%d of %d kept, %.1f s; wrote train.npz", len(keep), len(rows), time.time() - t)
