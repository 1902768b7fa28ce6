"""Successive halving over the learning rate: all trials run side by side, at each rung the worse half is ended."""
import json
import math
import subprocess
import sys
import time
from pathlib import Path

LRS = {"t0": 3e-4, "t1": 5e-3, "t2": 3e-2, "t3": 0.15, "t4": 40.0}
RUNGS = [(40, 3), (110, 1)]
STEPS = 230


def last(name):
    f = Path(f"trials/{name}.jsonl")
    lines = [l for l in f.read_text().splitlines() if l.endswith("}")] if f.exists() else []
    return json.loads(lines[-1]) if lines else {"step": 0, "loss": math.inf}


def key(v):
    return v if math.isfinite(v) else math.inf


def table(procs):
    print("  ".join(f"{n}:{last(n)['step']}/{last(n)['loss']:.4g}" for n in procs), flush=True)


def main():
    Path("trials").mkdir(exist_ok=True)
    procs = {n: subprocess.Popen([sys.executable, "trial.py", "--name", n, "--lr", str(lr), "--steps", str(STEPS)])
             for n, lr in LRS.items()}
    print(f"[search] {len(procs)} trials started: {LRS}", flush=True)
    try:
        for rung, keep in RUNGS:
            t = time.time()
            while min(last(n)["step"] for n in procs) < rung:
                time.sleep(1)
                if time.time() - t > 3:
                    table(procs)
                    t = time.time()
            order = sorted(procs, key=lambda n: key(last(n)["loss"]))
            for n in order[keep:]:
                v = last(n)["loss"]
                procs[n].terminate()
                rc = procs.pop(n).wait()
                print(f"[search] rung {rung}: trial {n} (lr {LRS[n]}) stopped, loss={v:.4g}, exit code {rc}", flush=True)
            print(f"[search] rung {rung}: {', '.join(order[:keep])} go on", flush=True)
        best = next(iter(procs))
        while procs[best].poll() is None:
            time.sleep(3)
            table(procs)
        print(f"[search] best trial {best}, lr {LRS[best]}, loss {last(best)['loss']:.4f}, "
              f"exit code {procs[best].returncode}", flush=True)
    finally:
        for p in procs.values():
            if p.poll() is None:
                p.kill()


if __name__ == "__main__":
    main()
