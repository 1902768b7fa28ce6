"""What deciding costs, on one run with eight ranks whose buffers are full.

Per report: the history, every accumulator and every rule that a report concerns. Per second: every
rule that is asked once a second, with eight ranks, sixteen workers, eight GPUs, and once more
while a case of silence is open. The reference is ``json.loads`` of the report as a JSON line,
timed in the same rounds, so that the ratio means something on another machine.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import timeit
from collections.abc import Callable
from dataclasses import dataclass

from middlewatch.sentinels.kit import GpuSample, MemorySample, ProcessesSeen, Step

from .box import LOG, RUN, Box
from .runs import RUNS

PER_STEP_US = 60.0
PER_TICK_US = 1000.0
"""What is asked of us (microseconds on the reference box)."""
LINE = json.dumps({"step": 4200, "loss": 2.3123, "lr": 3e-4, "grad_norm": 0.51, "tok/s": 180221})


@dataclass(frozen=True)
class Cost:
    """Median over the rounds, in microseconds, and as a multiple of the reference."""

    what: str
    us: float
    ratio: float
    limit_us: float | None


def measure(rounds: int) -> list[Cost]:
    """All costs; every round times each of them and the reference in turn."""
    box = Box(next(r for r in RUNS if r.name == "megatron"))
    box.hours(0.6)
    judged = Box(next(r for r in RUNS if r.name == "megatron"), seed=1)
    judged.hours(0.6)
    judged.dead = True
    for _ in range(100):
        judged.second()  # a case is weighed, the verdict is still open
    measured: dict[str, tuple[Callable[[], object], int, float | None]] = {
        "json.loads of a report": (lambda: json.loads(LINE), 20_000, None),
        "a report": (_reports(box), 2_000, PER_STEP_US),
        "a second": (_seconds(box), 500, PER_TICK_US),
        "a second of silence": (_seconds(judged), 500, PER_TICK_US),
    }
    times: dict[str, list[float]] = {what: [] for what in measured}
    for _ in range(rounds):
        for what, (call, count, _limit) in measured.items():
            times[what].append(timeit.timeit(call, number=count) / count * 1e6)
    medians = {what: statistics.median(found) for what, found in times.items()}
    reference = medians["json.loads of a report"]
    return [Cost(what, us, us / reference, measured[what][2]) for what, us in medians.items()]


def _reports(box: Box) -> Callable[[], object]:
    step = box.watched.history.steps[-1]
    values = dict(step.values)
    count = [step.number or 0.0]
    level, first = values["train_loss"], count[0]
    rng = random.Random(1)

    def one() -> None:
        count[0] += 1
        box.clock.jump(2.1)
        now = box.clock.now()
        values["train_loss"] = level * (first / count[0]) ** 0.1 * rng.lognormvariate(0.0, 0.015)
        seen = Step(now, count[0], dict(values), total=500_000, file=LOG, line=int(count[0]))
        box.watched.add_observations([seen])
        box.watched.fresh.clear()
        view = box.watched.view(now)
        changes = box.engine.judge(RUN, view, {Step}, tick=False)
        assert not changes, changes

    return one


def _seconds(box: Box) -> Callable[[], object]:
    history = box.watched.history
    fresh = {ProcessesSeen, MemorySample, GpuSample}

    def one() -> None:
        view = history.view(box.clock.now())
        assert not box.engine.judge(RUN, view, fresh, tick=True)

    return one


def main() -> int:
    """Print the table. Exit status 1 when a limit is exceeded."""
    words = argparse.ArgumentParser(prog="scripts/bench-sentinels", description=__doc__)
    words.add_argument("--rounds", type=int, default=7)
    words.add_argument("--json", action="store_true")
    given = words.parse_args()
    costs = measure(given.rounds)
    if given.json:
        print(json.dumps([vars(c) for c in costs]))
    else:
        print(f"{'all sentinels, 8 ranks':26} {'us':>8} {'x json.loads':>13} {'asked, us':>10}")
        for cost in costs:
            asked = "" if cost.limit_us is None else f"{cost.limit_us:.0f}"
            print(f"{cost.what:26} {cost.us:8.1f} {cost.ratio:13.1f} {asked:>10}")
    return int(any(c.limit_us is not None and c.us > c.limit_us for c in costs))


if __name__ == "__main__":
    sys.exit(main())
