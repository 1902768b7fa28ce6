"""Successive halving: six trials start together, at each rung the poorer half is ended."""
import csv
import logging
import os
import subprocess
import sys
import time

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(levelname)s halving: %(message)s")
log = logging.getLogger()
CONFIGS = {"t0": (0.0005, 16), "t1": (0.002, 16), "t2": (0.01, 32), "t3": (0.02, 32), "t4": (0.001, 64), "t5": (0.008, 64)}
RUNGS, FINAL = (10, 20), 36


def rows(name):
    try:
        with open(f"trials/{name}.csv", newline="") as f:
            return [r for r in csv.DictReader(f) if r["val_loss"]]
    except FileNotFoundError:
        return []


def main():
    os.makedirs("trials", exist_ok=True)
    alive = {}
    for name, (lr, width) in CONFIGS.items():
        alive[name] = subprocess.Popen([sys.executable, "trial.py", "--name", name, "--lr", str(lr),
                                        "--width", str(width), "--epochs", str(FINAL)])
        log.info("trial %s started: lr=%g width=%d pid=%d", name, lr, width, alive[name].pid)
    for rung in RUNGS:
        while any(len(rows(n)) < rung for n in alive):
            time.sleep(1)
        score = {n: float(rows(n)[rung - 1]["val_loss"]) for n in alive}
        order = sorted(score, key=score.get)
        for n in order:
            log.info("rung %d: trial %s val_loss %.4f", rung, n, score[n])
        for n in order[(len(order) + 1) // 2:]:
            alive[n].terminate()
            log.warning("trial %s terminated (exit code %d), not among the better half", n, alive[n].wait())
            del alive[n]
    for n, proc in alive.items():
        code = proc.wait()
        log.info("trial %s ended with exit code %d, val_loss %s", n, code, rows(n)[-1]["val_loss"])
    best = min(alive, key=lambda n: float(rows(n)[-1]["val_loss"]))
    log.info("best trial %s: lr=%g width=%d", best, *CONFIGS[best])


if __name__ == "__main__":
    main()
