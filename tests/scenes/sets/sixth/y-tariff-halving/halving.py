"""Successive halving for the tariff model: eight candidates at once, after each rung the worse half is ended."""
import json
import logging
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(levelname)s %(asctime)s halving - %(message)s")
log = logging.getLogger()
RUNGS = (15, 40, 90)


def read(number):
    path = Path("scores") / f"{number:02d}.json"
    return json.loads(path.read_text()) if path.exists() else {"round": 0, "val": float("inf")}


def main():
    Path("scores").mkdir(exist_ok=True)
    rng = np.random.default_rng(1)
    settings = [(n, float(10 ** rng.uniform(-3, 1.0)), int(rng.choice([8, 16, 32]))) for n in range(8)]
    alive = {}
    for n, lr, width in settings:
        alive[n] = subprocess.Popen([sys.executable, "candidate.py", str(n), f"{lr:.5f}", str(width)], stderr=subprocess.DEVNULL)
        log.info("candidate %d: pid %d lr %.5f width %d", n, alive[n].pid, lr, width)
    for rung in RUNGS:
        while any(read(n)["round"] < rung and p.poll() is None for n, p in alive.items()):
            time.sleep(5)
            state = {n: read(n) for n in alive}
            log.info("round %d | %s", min(s["round"] for s in state.values()),
                     "  ".join(f"#{n} {s['val']:.3f}" for n, s in state.items()))
        order = sorted(alive, key=lambda n: read(n)["val"])
        if rung == RUNGS[-1]:
            break
        for n in order[(len(order) + 1) // 2:]:
            alive[n].terminate()
            code = alive.pop(n).wait()
            log.warning("candidate %d pruned at rung %d (val %.3f), terminated, returncode %d", n, rung, read(n)["val"], code)
    for p in alive.values():
        p.wait()
    log.info("best candidate: #%d %s", order[0], read(order[0]))


if __name__ == "__main__":
    main()
