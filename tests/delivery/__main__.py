"""How long a push takes from the decision to the receiver, beside a bare ``apprise`` command.

The real daemon watches runs whose losses become NaN, one after the other. In each round are measured, to the
same receiver on loopback:

- *bare*: the command ``apprise`` with a title and a body, from its start to the arrival;
- *asleep*: a push for which the daemon has to start its notifier, as it is when nothing was sent for 20 s;
- *awake*: one more while the notifier runs.

The decision is the time at which the message was put into the outbox, before it is committed there. From the
NaN in the log to the arrival is told as well. Asked: a p95 at most 1.5 s beyond that of the bare command.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..fakes.box import Box, Push, Receiver, notifier_of

MOST_BEYOND_S = 1.5
EVERY_S = 0.5
"""Between two reports of each run."""
STEPS = 40
"""Reports of a run before the first one gets into trouble: the rules know its usual numbers by then."""
BARE = str(Path(sys.executable).with_name("apprise"))


class Run:
    """A process that lives, and a log with reports in it."""

    def __init__(self, box: Box, number: int) -> None:
        self.name = f"run{number}"
        self.log = box.root / f"{self.name}.log"
        self.nan_at: float | None = None
        """When the loss became NaN, epoch seconds."""
        self._step = 0
        self._nan = threading.Event()
        for _ in range(STEPS):
            self.report()
        process = box.spawn("sleep", "86400")
        words = ("--pid", str(process.pid), "--log", str(self.log), "--name", self.name)
        box.command("watch", *words)

    def report(self) -> None:
        """One more line."""
        self._step += 1
        loss = math.nan if self._nan.is_set() else 3.0 - self._step / 1000
        with self.log.open("a") as out:
            out.write(f"step {self._step}/100000 loss {loss:.4f} lr 3.0e-04\n")
        if math.isnan(loss) and self.nan_at is None:
            self.nan_at = time.time()

    def fail(self) -> None:
        """From now on the loss is NaN."""
        self._nan.set()


class Watched:
    """Runs that report until the end of the measurement."""

    def __init__(self, box: Box, count: int) -> None:
        self.box = box
        self.runs = [Run(box, number) for number in range(count)]
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._report)
        self._thread.start()

    def _report(self) -> None:
        while not self._over.wait(EVERY_S):
            for run in self.runs:
                run.report()

    def push(self, run: Run) -> Push:
        """Let a run fail; the push about it."""
        run.fail()
        return self.box.push(lambda p: p.title.startswith(f"[CRITICAL] {run.name} on"), run.name)

    def close(self) -> None:
        """No more reports."""
        self._over.set()
        self._thread.join()


def bare(box: Box, number: int) -> float:
    """Seconds from the start of an ``apprise`` command to the arrival."""
    title = f"bare {number}"
    began = time.time()
    words = [BARE, "-t", title, "-b", "the loss is NaN since step 41\n" * 20, box.receiver.url]
    subprocess.run(words, env=box.env, check=True, capture_output=True)
    return box.push(lambda p: p.title == title, title).at - began


def fall_asleep(box: Box) -> None:
    """Wait until the notifier has ended by itself. One that is killed is started again after a pause only."""
    box.until(lambda: notifier_of(box.ask("ping")["pid"]) is None, "the end of the notifier")


def measured(rounds: int) -> Iterator[tuple[str, float]]:
    """(what, seconds) of each measurement."""
    with tempfile.TemporaryDirectory(prefix="bench-delivery-") as folder:
        receiver = Receiver()
        box = Box(Path(folder), receiver)
        box.configure("[sentinels.walltime_short]\nenabled = false\n")
        watched = None
        try:
            box.command("start")
            watched = Watched(box, 2 * rounds)
            for run in watched.runs:
                box.steps(STEPS, run.name)
            for number in range(rounds):
                yield "bare", bare(box, number)
                fall_asleep(box)
                for kind, run in zip(("asleep", "awake"), watched.runs[2 * number :], strict=False):
                    push = watched.push(run)
                    yield kind, push.at - box.docs("message")[push.key]["created_at"]
                    yield f"{kind}, from the log", push.at - (run.nan_at or push.at)
        finally:
            if watched is not None:
                watched.close()
            box.close()
            receiver.close()


def at(values: list[float], share: float) -> float:
    """The value that this share of them does not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def main() -> int:
    """Measure, print, and say by the status whether it is what is asked for."""
    words = argparse.ArgumentParser(
        description=__doc__,
        prog="scripts/bench-delivery",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    words.add_argument("--rounds", type=int, default=20, help="(default: 20)")
    words.add_argument("--json", action="store_true")
    given = words.parse_args()
    seconds: dict[str, list[float]] = {}
    for kind, value in measured(given.rounds):
        seconds.setdefault(kind, []).append(value)
    table: dict[str, dict[str, Any]] = {
        kind: {"n": len(some), "p50_s": at(some, 0.5), "p95_s": at(some, 0.95), "max_s": max(some)}
        for kind, some in seconds.items()
    }
    beyond = {k: table[k]["p95_s"] - table["bare"]["p95_s"] for k in ("asleep", "awake")}
    good = max(beyond.values()) <= MOST_BEYOND_S
    if given.json:
        print(json.dumps({"measured": table, "p95_beyond_bare_s": beyond, "good": good}, indent=2))
        return int(not good)
    print(f"{'seconds':<24} {'n':>4} {'p50':>7} {'p95':>7} {'max':>7}")
    for kind, row in sorted(table.items(), key=lambda item: ("log" in item[0], item[0])):
        print(
            f"{kind:<24} {row['n']:>4} {row['p50_s']:>7.2f} {row['p95_s']:>7.2f} {row['max_s']:>7.2f}"
        )
    for kind, value in beyond.items():
        print(f"p95 of {kind} beyond the bare command: {value:+.2f} s (asked: {MOST_BEYOND_S} s)")
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
