"""The soak on the command line: see ``scripts/soak``."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any

from middlewatch.sentinels.kit import Severity

from .box import Box
from .runs import RUNS

DEADLY_S = 1200.0
"""How long a run that died stays so: the longest patience of the hang rule is 30 min from its
last sign of life, most limits are a minute."""


def soak(name: str, hours: float, seed: int) -> dict[str, Any]:
    """One healthy run for so many hours; then all its processes fall asleep for ever."""
    run = next(r for r in RUNS if r.name == name)
    box = Box(run, seed)
    began = time.process_time()
    told = box.hours(hours)
    row: dict[str, Any] = {
        "run": name,
        "seed": seed,
        "hours": hours,
        "steps": box.steps,
        "pages": told.pages,
        "warnings": told.count(Severity.WARNING),
        "infos": told.count(Severity.INFO),
        "other": dict(told.classes),
        "cpu_s": 0.0,
    }
    before = len(told.changes)
    row["cpu_s"] = round(time.process_time() - began, 1)
    box.dead = True
    died = box.elapsed
    row["heard_after_s"] = None
    while box.elapsed - died < DEADLY_S * 3 and row["heard_after_s"] is None:
        box.second()
        for at, _, severity, trouble, _ in told.changes[before:]:
            if severity is Severity.CRITICAL:
                row["heard_after_s"] = at - died
                row["heard_as"] = trouble
    return row


def main() -> int:
    """Run them all, print a table. Exit status 1 for a false page or a deaf watch."""
    words = argparse.ArgumentParser(
        prog="scripts/soak",
        description="Healthy runs in accelerated time: the watch must not page.",
        epilog="example: scripts/soak --hours 24",
    )
    words.add_argument("--hours", type=float, default=24.0, help="of each run (default: 24)")
    words.add_argument("--seeds", type=int, default=1, help="of each run (default: 1)")
    words.add_argument("--only", action="append", default=[], choices=[r.name for r in RUNS])
    words.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    words.add_argument("--json", action="store_true")
    given = words.parse_args()
    names = [r.name for r in RUNS if not given.only or r.name in given.only]
    rows: list[dict[str, Any]] = []
    with ProcessPoolExecutor(given.jobs) as pool:
        tasks = [
            pool.submit(soak, name, given.hours, seed)
            for seed in range(given.seeds)
            for name in names
        ]
        for task in as_completed(tasks):
            row = task.result()
            rows.append(row)
            if not given.json:
                _show(row)
    total = sum(r["hours"] for r in rows)
    pages = sum(len(r["pages"]) for r in rows)
    deaf = [r["run"] for r in rows if r["heard_after_s"] is None]
    if given.json:
        print(json.dumps({"hours": total, "pages": pages, "deaf": deaf, "rows": rows}))
    else:
        others: Counter[str] = Counter()
        for row in rows:
            others.update(row["other"])
        print(
            f"{total:g} run-hours of {len(names)} runs: {pages} false pages, deaf to {deaf or 'none'}"
        )
        print(
            "below a page:",
            ", ".join(f"{n} x {what}" for what, n in others.most_common()) or "nothing",
        )
    return 1 if pages or deaf else 0


def _show(row: dict[str, Any]) -> None:
    heard = row["heard_after_s"]
    print(
        f"{row['run']:14} seed {row['seed']} {row['hours']:6.1f} h {row['steps']:9,} reports"
        f"  pages {len(row['pages'])}  warnings {row['warnings']}  infos {row['infos']}"
        f"  its death heard after {f'{heard:.0f} s' if heard else 'NEVER'}  cpu {row['cpu_s']} s",
        flush=True,
    )
    for page in row["pages"][:5]:
        print(f"    FALSE {page}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
