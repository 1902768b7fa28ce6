"""Evaluation only: loads a frozen model and runs the regression suite over it."""
import sys
import time

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

console = Console(width=110)
rng = np.random.default_rng(42)
W = np.load("frozen.npz")["w"]
TASKS = [("arith-2digit", 0.1), ("arith-5digit", 2.5), ("copy", 0.05), ("reverse", 0.8), ("adversarial", 6.0), ("out-of-domain", 9.0)]

rows = []
with Progress(console=console) as progress:
    whole = progress.add_task("suite", total=len(TASKS) * 60)
    for name, noise in TASKS:
        hits = errors = timeouts = 0
        losses = []
        for i in range(60):
            x = rng.normal(size=(16, 6))
            y = x @ W
            guess = y + noise * rng.normal(size=16)
            losses.append(float(np.mean((guess - y) ** 2)))
            hits += int((np.sign(guess) == np.sign(y)).sum())
            if noise > 5 and i % 20 == 7:
                errors += 1
                progress.console.log(f"{name}[{i}]: answer could not be parsed, counted as wrong")
            time.sleep(0.15)
            progress.advance(whole)
        acc = hits / (16 * 60)
        rows.append((name, acc, float(np.mean(losses)), errors))
        progress.console.log(f"{name}: accuracy {acc:.3f}, loss {np.mean(losses):.3f}")

table = Table(title="regression suite, model frozen-2026-11")
for column in ("task", "accuracy", "loss", "unparsable", "verdict"):
    table.add_column(column)
for name, acc, loss, errors in rows:
    table.add_row(name, f"{acc:.3f}", f"{loss:.2f}", str(errors), "ok" if acc > 0.9 else "below target")
console.print(table)
below = sum(acc <= 0.9 for _, acc, _, _ in rows)
console.print(f"{len(rows)} tasks evaluated, {below} below target. Report written to report.txt")
with open("report.txt", "w") as f:
    for row in rows:
        f.write("\t".join(map(str, row)) + "\n")
sys.exit(0)
