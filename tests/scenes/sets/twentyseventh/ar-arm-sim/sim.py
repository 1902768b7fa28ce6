"""A planar arm over stdin/stdout, one JSON line per message (stands for the vendor's binary)."""
import json
import math
import sys

import numpy as np

r = np.random.default_rng(1)
warn = sys.stderr
q = goal = None
n = 0
for line in sys.stdin:
    m = json.loads(line)
    if m["cmd"] == "reset":
        q = r.uniform(-1, 1, 2)
        phi = r.uniform(0.2, 1.2)
        goal = np.array([1.2 * math.cos(phi), 1.2 * math.sin(phi)])
        n = 0
    else:
        q = q + 0.2 * np.clip(m["a"], -1, 1)
        n += 1
        if n % 8 == 0:
            warn.write(f"[solver] WARN  contact 0x{n:04x}: LCP not converged after 00050 sweeps, residual clamped; warm start dropped for island 00\n")
            warn.flush()
    tip = np.array([math.cos(q[0]) + math.cos(q.sum()), math.sin(q[0]) + math.sin(q.sum())])
    d = float(np.linalg.norm(tip - goal))
    print(json.dumps({"o": [*q.tolist(), *goal.tolist(), *(goal - tip).tolist()], "rew": -d, "done": n >= 40}), flush=True)
