"""The crane simulator: reads one force per line, answers with the state. Talks JSON over stdin/stdout."""
import json
import math
import random
import sys

random.seed(12)
x = v = a = w = 0.0
for line in sys.stdin:
    req = json.loads(line)
    if req["op"] == "reset":
        x, v, a, w = random.uniform(-0.1, 0.1), 0.0, random.uniform(-0.05, 0.05), 0.0
    else:
        f = max(-1.0, min(1.0, req["force"])) * 4
        acc = f - 0.3 * v
        w += 0.05 * (-9.8 * math.sin(a) - acc * math.cos(a))
        v += 0.05 * acc
        a += 0.05 * w
        x += 0.05 * v
        if req["force"] > 1.0 or req["force"] < -1.0:
            sys.stderr.write(f"[crane-sim] warn: solver: cable tension estimate outside calibrated range (angle={a:+.5f}, speed={w:+.5f}), using linear model\n")
            sys.stderr.flush()
    print(json.dumps({"s": [x, v, a, w]}), flush=True)
