"""Grid over learning rate and width; each trial is its own process so that memory is clean."""
import itertools
import json
import os
import re
import subprocess
import sys
import time

GRID = list(itertools.product([0.02, 0.05], [32, 64, 128]))
# the first round is a short one to see whether anything works at all
STEPS = {0: 200, 1: 200}
LONG = 1500


def run_trial(i, lr, width):
    out = f"runs/trial_{i:02d}"
    os.makedirs(out, exist_ok=True)
    cmd = [sys.executable, "-u", "trial.py", "--lr", str(lr), "--width", str(width),
           "--steps", str(STEPS.get(i, LONG)), "--out", out]
    proc = subprocess.Popen(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    rc = proc.wait()
    text = proc.stdout.read()
    with open(f"{out}/output.txt", "w") as f:
        f.write(text)
    m = re.search(r"final val_acc=([0-9.]+)", text)
    return rc, float(m.group(1)) if m else None


def main():
    results = []
    t_all = time.time()
    print(f"[grid] {len(GRID)} trials, python {sys.version.split()[0]}", flush=True)
    for i, (lr, width) in enumerate(GRID):
        print(f"[grid] trial {i + 1}/{len(GRID)} lr={lr} width={width} steps={STEPS.get(i, LONG)} -> runs/trial_{i:02d}",
              flush=True)
        t0 = time.time()
        rc, acc = run_trial(i, lr, width)
        results.append({"trial": i, "lr": lr, "width": width, "rc": rc, "val_acc": acc})
        with open("runs/results.json", "w") as f:
            json.dump(results, f, indent=1)
        print(f"[grid]   done in {time.time() - t0:.0f}s rc={rc} val_acc={acc}", flush=True)
    best = max((r for r in results if r["val_acc"] is not None), key=lambda r: r["val_acc"])
    print(f"[grid] all done in {time.time() - t_all:.0f}s, best: {best}", flush=True)


if __name__ == "__main__":
    main()
