"""``kill -9`` of the daemon and its notifier at random moments, under load: see ``scripts/bench-kills``."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .lane import EACH, Lane, Pace
from .truth import Score


def lane(folder: Path, seed: int, kills: int, pace: Pace, enough: threading.Event) -> Score:
    """The score of one lane."""
    made = Lane(folder, seed, pace)
    try:
        made.kill_often(kills, enough)
        return made.finish()
    finally:
        made.close()


def main() -> int:
    """Print what held. Exit status 1 if something did not."""
    words = argparse.ArgumentParser(
        prog="scripts/bench-kills",
        description="Kill the daemon, or what pushes for it, again and again while trainings run and get into trouble.",
        epilog="example: scripts/bench-kills --kills 100. After Ctrl-C what was killed so far is judged.",
    )
    words.add_argument("--kills", type=int, default=1000, help="in all lanes (default: 1000)")
    words.add_argument("--lanes", type=int, default=3, help="boxes side by side (default: 3)")
    words.add_argument("--seed", type=int, default=1)
    words.add_argument(
        "--notifier",
        action="store_true",
        help="kill the child that pushes as well: the daemon, its notifier or both, drawn each time",
    )
    words.add_argument("--json", action="store_true")
    given = words.parse_args()
    enough = threading.Event()
    for sign in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sign, lambda *_: enough.set())
    score = Score()
    pace = Pace(victims=EACH) if given.notifier else Pace()
    share, rest = divmod(given.kills, given.lanes)
    with (
        tempfile.TemporaryDirectory(prefix="bench-kills-") as folder,
        ThreadPoolExecutor(given.lanes) as pool,
    ):
        lanes = [
            pool.submit(
                lane, Path(folder) / str(i), given.seed * 1000 + i, share + (i < rest), pace, enough
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
        f"kills                {score.all_kills}: of the daemon {score.kills - score.kills_of_both}, of its "
        f"notifier {score.notifier_kills}, of both {score.kills_of_both}"
    )
    print(f"it did not start     {score.starts_failed}")
    print(f"not whole after it   {len(score.broken)}")
    print(
        f"lines counted        {score.counted:,} of {score.lines:,} in {score.trainings} trainings"
    )
    print(f"troubles told        {score.told} of {score.troubles}")
    print(f"passing NaN told     {score.passing_told} of {score.passing}")
    print(
        f"pushes               {score.pushes} about {score.incidents} incidents, of them again: {len(score.again)}"
    )
    print(f"  as another incident {len(score.anew)}")
    print(f"  without a kill      {len(score.without_kill)}")
    print(f"never arrived        {len(score.undelivered)}")
    print(f"out of order         {len(score.disordered)}")
    print(f"false alarms         {len(score.false_alarms)}")
    print(f"false RESOLVED       {len(score.false_resolved)}")
    for name in (
        "broken",
        "miscounted",
        "untold",
        "again",
        "anew",
        "without_kill",
        "undelivered",
        "disordered",
        "false_alarms",
        "false_resolved",
    ):
        for line in getattr(score, name):
            print(f"  {name}: {line}")


if __name__ == "__main__":
    sys.exit(main())
