"""How many pushes a storm of findings makes, and whether another trouble still gets through.

Three measurements, each with the real outbox, notifier and a receiver on loopback:

- *storm*: the real daemon watches a run of eight ranks that together write so many lines of trouble a
  minute (eight kinds, one of them each line). In its middle a second run dies.
- *findings*: as many findings, of ten classes and with keys of their own, are given to the incidents.
- *flapping*: one trouble comes and goes for a day, by a clock that is moved by hand; in the middle of the
  day another trouble comes.

Asked: 3 pushes at most of the storm, 6 of the flapping, and the other trouble within 10 s.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from middlewatch.daemon.config.load import parse
from middlewatch.daemon.config.paths import StateDir
from middlewatch.daemon.config.run_spec import RunSpec
from middlewatch.daemon.judge.incidents import Incidents
from middlewatch.daemon.service.alerting import Alerter
from middlewatch.daemon.service.context import Context
from middlewatch.daemon.service.watched_run import WatchedRun
from middlewatch.daemon.system.loop import Loop
from middlewatch.daemon.system.pump import Pump
from middlewatch.daemon.system.store import Store
from middlewatch.sentinels.kit import Finding, Severity

from ..fakes.box import Box, Receiver
from ..fakes.clock import FakeClock
from .ranks import RANKS

MOST_STORM, MOST_FLAPPING, WITHIN_S = 3, 6, 10.0
PROGRAM = Path(__file__).with_name("ranks.py")
DIES = "import time\nprint('step 1/9 loss 2.0', flush=True)\ntime.sleep(3)\nraise KeyError('weights')\n"


def storm(a_minute: int, seconds: float) -> dict[str, Any]:
    """The real daemon in a storm."""
    with tempfile.TemporaryDirectory() as root:
        receiver = Receiver()
        box = Box(Path(root), receiver)
        box.configure("")
        folder = Path(root) / "logs"
        folder.mkdir()
        try:
            rate = a_minute / 60.0 / RANKS
            run = box.spawn(sys.executable, str(PROGRAM), str(folder), str(rate), str(seconds))
            logs = [word for n in range(RANKS) for word in ("--log", str(folder / f"rank{n}.log"))]
            files = [folder / f"rank{n}.log" for n in range(RANKS)]
            box.until(lambda: all(file.exists() for file in files), "its logs")
            box.command("watch", "--pid", str(run.pid), "--name", "storm", *logs)
            box.steps(50, run="storm")
            before = _cpu_s(box)
            (folder / "storm").touch()
            began = time.monotonic()
            time.sleep(seconds / 2)
            box.run(sys.executable, "-c", DIES, name="other")
            exit_file = next(box.state.glob("runs/other-*")) / "exit.json"
            box.until(
                lambda: exit_file.exists() and exit_file.stat().st_size, "the end of the other"
            )
            died = time.monotonic()
            box.push(
                lambda p: p.title.startswith("[CRITICAL] other on"), "the push about the other"
            )
            late_s = time.monotonic() - died
            time.sleep(max(0.0, began + seconds - time.monotonic()) + 5.0)
            cpu_s, rows = _cpu_s(box) - before, box.status("storm")["logs"]
            lines = sum(
                len((folder / f"rank{n}.log").read_text().splitlines()) for n in range(RANKS)
            )
            about = [p for p in receiver.pushes if " storm on " in p.title]
            incidents = [i for i in box.ask("incidents", all=True) if i["run"].startswith("storm")]
            return {
                "lines": lines,
                "seconds": seconds,
                "behind_bytes": sum(row["behind_bytes"] for row in rows),
                "incidents": len(incidents),
                "findings": sum(i["count"] for i in incidents),
                "pushes": len(about),
                "titles": [p.title for p in about],
                "other_after_s": round(late_s, 2),
                "daemon_cpu_s": round(cpu_s, 1),
            }
        finally:
            (folder / "end").touch()
            box.close()
            receiver.close()


def _cpu_s(box: Box) -> float:
    fields = Path(f"/proc/{box.ask('ping')['pid']}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100.0


class Desk:
    """What tells of incidents, with a clock that is moved by hand and a real receiver."""

    def __init__(self, root: Path) -> None:
        self.receiver, self.clock = Receiver(), FakeClock()
        self.loop = Loop(self.clock, _raise)
        state = StateDir(root)
        self.store = Store(state.store, state.reserve, root)
        self.incidents = Incidents()
        config = parse(f'[alerts]\nhost = "box3"\nurls = ["{self.receiver.url}"]\n', "f")
        pump = Pump(self.loop, self.clock, lambda line: None)
        context = Context(state, config, self.clock, self.store, self.incidents, pump)
        for name in ("gpt", "bert"):
            spec = RunSpec(name=name, id=f"{name}-1")
            context.runs[spec.id] = WatchedRun(spec, context.box, self.clock)
        self.runs = context.runs
        self.alerter = Alerter(context, self.loop, lambda line: None)

    def judge(self, *findings: tuple[str, Finding], run: str = "gpt-1") -> None:
        """One round of judgement; a disk that is not reported is well again after a second."""
        for change in self.incidents.update(
            run, findings, {"disk_full": 1.0}, self.clock.now(), lambda *_: "there is room again"
        ):
            self.alerter.alert(self.runs[run], change)
        self.alerter.remind()

    def other_s(self) -> float:
        """Seconds until a trouble of another run that comes now has arrived."""
        other = Finding("loss_nan", Severity.CRITICAL, "the loss is NaN since step 9")
        began = time.monotonic()
        self.judge(("nan_loss", other), run="bert-1")
        while not any(" bert on " in p.title for p in self.receiver.pushes):
            assert time.monotonic() - began < 120.0, "the other trouble never came"
            self._pump()
        return time.monotonic() - began

    def titles(self) -> list[str]:
        """Of all pushes but that about the other trouble, once all have arrived."""
        deadline = time.monotonic() + 120.0
        while any(True for _ in self.alerter.outbox.waiting()):
            assert time.monotonic() < deadline, "some pushes never came"
            self._pump()
        return [p.title for p in self.receiver.pushes if " bert on " not in p.title]

    def _pump(self) -> None:
        self.alerter.outbox.pump(self.clock.now(), self.clock.monotonic())
        time.sleep(0.005)

    def close(self) -> None:
        """End the notifier, and close the rest."""
        self.alerter.outbox.close()
        self.store.close()
        self.loop.close()
        self.receiver.close()


CLASSES = (
    *(
        "loss_nan",
        "loss_inf",
        "cuda_oom",
        "nccl_timeout",
        "cuda_illegal_access",
        "python_exception",
    ),
    *("rank_failed", "dataloader_worker_killed", "hang", "disk_full"),
)


def findings(a_minute: int) -> dict[str, Any]:
    """A minute of findings of eight ranks about ten classes, each with a key of its own."""
    with tempfile.TemporaryDirectory() as root:
        desk = Desk(Path(root))
        try:
            made, late_s, began = 0, 0.0, time.monotonic()
            for second in range(60):
                some = []
                while made < a_minute * (second + 1) // 60:
                    trouble = CLASSES[made // RANKS % len(CLASSES)]
                    words = f"{trouble} on rank {made % RANKS}, for the {made}th time"
                    key = f"rank{made % RANKS}"
                    some.append(("rank", Finding(trouble, Severity.CRITICAL, words, key=key)))
                    made += 1
                desk.judge(*some)
                if second == 30:
                    late_s = desk.other_s()
                desk.clock.jump(1.0)
            titles = desk.titles()
            return {
                "findings": made,
                "pushes": len(titles),
                "titles": titles,
                "incidents": len(desk.incidents.all()),
                "judged_in_s": round(time.monotonic() - began, 1),
                "other_after_s": round(late_s, 2),
            }
        finally:
            desk.close()


def flapping(times: int, hours: float) -> dict[str, Any]:
    """One trouble that comes and goes, and another one in between."""
    dice = random.Random(7)
    with tempfile.TemporaryDirectory() as root:
        desk, late_s = Desk(Path(root)), 0.0
        full = ("disk_full", Finding("disk_full", Severity.CRITICAL, "/data is full", key="mount"))
        try:
            pause_s = hours * 3600.0 / times
            for number in range(times):
                there_s = pause_s * dice.uniform(0.1, 0.6)
                desk.judge(full)
                if number == times // 2:
                    late_s = desk.other_s()
                desk.clock.jump(there_s)
                desk.judge()
                desk.clock.jump(pause_s - there_s)
            titles = desk.titles()
            return {
                "times": times,
                "hours": hours,
                "pushes": len(titles),
                "titles": titles,
                "other_after_s": round(late_s, 2),
            }
        finally:
            desk.close()


def _raise(error: Exception) -> None:
    raise error


def main() -> int:
    """Measure, print, and say by the status whether it is what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, prog="scripts/bench-storm")
    parser.add_argument("--a-minute", type=int, default=10_000, help="lines of trouble a minute")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long the storm lasts")
    parser.add_argument("--times", type=int, default=288, help="how often a trouble comes in a day")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    told = {
        "storm": storm(args.a_minute, args.seconds),
        "findings": findings(args.a_minute),
        "flapping": flapping(args.times, 24.0),
    }
    good = (
        max(told["storm"]["pushes"], told["findings"]["pushes"]) <= MOST_STORM
        and told["flapping"]["pushes"] <= MOST_FLAPPING
        and max(one["other_after_s"] for one in told.values()) <= WITHIN_S
    )
    if args.json:
        print(json.dumps(told | {"good": good}, indent=2))
        return int(not good)
    one = told["storm"]
    print(
        f"storm: {one['lines']:,} lines of {RANKS} ranks in {one['seconds']:.0f} s, {one['findings']:,} findings, "
        f"{one['pushes']} pushes (at most {MOST_STORM} asked); another trouble after {one['other_after_s']} s; "
        f"daemon {one['daemon_cpu_s']} s of CPU"
    )
    for title in one["titles"]:
        print(f"  {title}")
    some = told["findings"]
    print(
        f"findings: {some['findings']:,} in a minute, {some['pushes']} pushes (at most {MOST_STORM} asked); another "
        f"trouble after {some['other_after_s']} s"
    )
    for title in some["titles"]:
        print(f"  {title}")
    two = told["flapping"]
    print(
        f"flapping: {two['times']} times in {two['hours']:.0f} h, {two['pushes']} pushes (at most {MOST_FLAPPING} "
        f"asked); another trouble after {two['other_after_s']} s"
    )
    for title in two["titles"]:
        print(f"  {title}")
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
