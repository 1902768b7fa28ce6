import json, sys, time
import numpy as np

c, budget = json.loads(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(0)
X = rng.normal(size=(400, 20)); w = rng.normal(size=20); y = X @ w + 0.1 * rng.normal(size=400)
p = np.zeros(20)
for step in range(budget):
    i = rng.integers(0, 400, 64)
    g = 2 * X[i].T @ (X[i] @ p - y[i]) / 64 + c["wd"] * p
    p -= c["lr"] * g
    time.sleep(0.08)
    loss = float(((X @ p - y) ** 2).mean())
    if loss > 1e12:
        print(f"diverged at step {step}: loss {loss:.3e}", file=sys.stderr)
        sys.exit(3)
print(json.dumps({"val": loss}))
