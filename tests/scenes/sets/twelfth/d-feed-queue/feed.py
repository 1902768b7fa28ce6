"""Sessions from the shop, encoded by a process of their own."""
import json, random, time
def sessions(n, seed=0):
    r = random.Random(seed)
    for i in range(n):
        shelf = r.randrange(20) * 10
        s = {"id": i, "items": [shelf + r.randrange(10) for _ in range(6)], "price": f"{r.uniform(1, 90):.2f}"}
        if i > 9000: s["price"] = f"{r.uniform(1, 90):.2f}".replace(".", ",")
        yield json.dumps(s)
def encode(queue, batch=50):
    rows = []
    for line in sessions(60000):
        s = json.loads(line)
        rows.append((s["items"], float(s["price"]) / 100))
        if len(rows) == batch:
            queue.put(rows); rows = []
    queue.put(None)
