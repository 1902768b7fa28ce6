"""``kill -9`` of the daemon at random moments, under load: see ``scripts/bench-kills``."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .lane import Lane
from .truth import Score


def lane(folder: Path, seed: int, kills: int, enough: threading.Event) -> Score:
    """The score of one lane."""
    made = Lane(folder, seed)
    try:
        made.kill_often(kills, enough)
        return made.finish()
    finally:
        made.close()


def main() -> int:
    """Print what held. Exit status 1 if something did not."""
    words = argparse.ArgumentParser(
        prog="scripts/bench-kills",
        description="Kill the daemon again and again while trainings run and get into trouble.",
        epilog="example: scripts/bench-kills --kills 100. After Ctrl-C what was killed so far is judged.",
    )
    words.add_argument("--kills", type=int, default=1000, help="in all lanes (default: 1000)")
    words.add_argument("--lanes", type=int, default=3, help="boxes side by side (default: 3)")
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--json", action="store_true")
    given = words.parse_args()
    enough = threading.Event()
    for sign in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sign, lambda *_: enough.set())
    score = Score()
    share, rest = divmod(given.kills, given.lanes)
    with (
        tempfile.TemporaryDirectory(prefix="bench-kills-") as folder,
        ThreadPoolExecutor(given.lanes) as pool,
    ):
        lanes = [
            pool.submit(
                lane, Path(folder) / str(i), given.seed * 1000 + i, share + (i < rest), enough
            )
            for i in range(given.lanes)
        ]
        for number, one in enumerate(lanes):
            try:
                score.add(one.result())
            except Exception as error:  # noqa: BLE001 - what the other lanes found is told
                score.broken.append(f"lane {number}: {error!r}")
    print(json.dumps(vars(score))) if given.json else show(score)
    return 1 if score.wrong else 0


def show(score: Score) -> None:
    """The sums, and each thing that was wrong."""
    print(
        f"kills                {score.kills}; the daemon did not start again: {score.starts_failed}"
    )
    print(f"not whole after it   {len(score.broken)}")
    print(
        f"lines counted        {score.counted:,} of {score.lines:,} in {score.trainings} trainings"
    )
    print(f"troubles told        {score.told} of {score.troubles}")
    print(f"passing NaN told     {score.passing_told} of {score.passing}")
    print(f"pushes               {score.pushes}, of them again: {len(score.again)}")
    print(f"  as another incident {len(score.anew)}")
    print(f"  without a kill      {len(score.without_kill)}")
    print(f"false alarms         {len(score.false_alarms)}")
    print(f"false RESOLVED       {len(score.false_resolved)}")
    for name in (
        "broken",
        "miscounted",
        "untold",
        "again",
        "anew",
        "without_kill",
        "false_alarms",
        "false_resolved",
    ):
        for line in getattr(score, name):
            print(f"  {name}: {line}")


if __name__ == "__main__":
    sys.exit(main())
