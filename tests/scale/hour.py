"""A real hour beside three trainings: what the daemon's memory, descriptors and store do meanwhile.

See ``scripts/bench-hour``. Nothing is accelerated: real processes, a real daemon with a driver of eight
GPUs (our library with the C interface of NVML), logs that are rotated, saves that come and go, and a
daemon that is stopped, killed and started again in between.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from middlewatch.daemon.config.schema import Config

from ..fakes.box import Box, Receiver, end
from ..fakes.nvml_library import NvmlDouble, build
from . import measure

RUNS = 3
GPUS = 8
RESTARTS = ((6 / 60, "stop"), (25 / 60, "kill"), (45 / 60, "stop"))
"""(part of the time after which the daemon ends, how); it is started again at once."""
SAMPLE_S = 10.0
WARM_S = 600.0
"""Seconds after a start of the daemon that do not count: the longest ring of a run keeps 512 reports, which
come once a second here."""
FIRST_S = 600.0
"""Nothing before counts either: what is asked is the growth from minute 10 to the end."""
EDGE = 6
"""Samples at both ends of a life of which the median is compared: a minute."""
MOST_GROWTH = 0.05
TRAINER = Path(__file__).with_name("trainer.py")

Sample = dict[str, Any]


def gpus(double: NvmlDouble) -> str:
    """A scenario of eight boards, each like the first of the stored one."""
    head, first, *_ = double.stored("two_h100").split("[gpu ")
    card = first.partition("]")[2].replace("procs = 4242:61000000000 4243:100000000\n", "")
    cards = []
    for index in range(GPUS):
        own = card.replace("-000000000000", f"-00000000000{index}")
        cards.append(
            f"[gpu {index}]{own.replace('00000000:18:00.0', f'00000000:{index + 16:02x}:00.0')}"
        )
    return head + "".join(cards)


def sample(box: Box, pid: int, at_s: float, life: int) -> Sample:
    """One look at the daemon, its children and its files."""
    children = measure.tree(pid)[1:]
    store = [path.stat().st_size for path in box.state.glob("middlewatch.sqlite*")]
    return {
        "at_s": round(at_s, 1),
        "life": life,
        "rss": measure.own_rss(pid),
        "pss": measure.own_pss(pid),
        "children": len(children),
        "children_pss": sum(map(measure.own_pss, children)),
        "descriptors": measure.descriptors(pid),
        "threads": measure.threads(pid),
        "store_bytes": sum(store),
        "cpu_s": round(measure.cpu_s(pid), 2),
    }


def watch(box: Box, seconds: float) -> list[Sample]:
    """Sample until the time is over, and restart the daemon in between."""
    samples: list[Sample] = []
    began = time.monotonic()
    plan = [(part * seconds, how) for part, how in RESTARTS]
    life = 0
    pid = box.ask("ping")["pid"]
    while (at_s := time.monotonic() - began) < seconds:
        if plan and at_s >= plan[0][0]:
            _, how = plan.pop(0)
            if how == "kill":
                os.kill(pid, signal.SIGKILL)
            else:
                box.command("stop")
            box.command("start")
            pid, life = box.ask("ping")["pid"], life + 1
        samples.append(sample(box, pid, at_s, life))
        time.sleep(SAMPLE_S)
    return samples


def judge(samples: list[Sample], warm_s: float = WARM_S, first_s: float = FIRST_S) -> list[Sample]:
    """Per life of the daemon: growth of its memory, and whether descriptors and threads stayed."""
    lives = []
    for life in sorted({s["life"] for s in samples}):
        mine = [s for s in samples if s["life"] == life]
        counted = [s for s in mine if s["at_s"] >= max(first_s, mine[0]["at_s"] + warm_s)]
        if life == 0:
            counted = [s for s in mine if s["at_s"] >= first_s]
        if len(counted) < 2 * EDGE:
            continue
        row: Sample = {"life": life, "from_s": counted[0]["at_s"], "to_s": counted[-1]["at_s"]}
        for what in ("rss", "pss", "descriptors", "threads"):
            # A child that checks a save for half a minute has pipes: without it, they are the fewest.
            share = 0.0 if what == "descriptors" else 0.5
            first, last = (
                measure.part([s[what] for s in some], share)
                for some in (counted[:EDGE], counted[-EDGE:])
            )
            row[what] = [first, last]
            row[f"{what}_growth"] = round(last / first - 1, 4)
        lives.append(row)
    return lives


def main() -> int:
    """Watch an hour, print a table. Exit status 1 when memory grew by more than a twentieth, when
    descriptors or threads did not stay, or when the store is over its cap."""
    words = argparse.ArgumentParser(
        prog="scripts/bench-hour", description=(__doc__ or "").splitlines()[0]
    )
    words.add_argument("--minutes", type=float, default=60.0)
    words.add_argument("--json", action="store_true")
    words.add_argument("--samples", type=Path, help="write every sample to this file (JSON)")
    given = words.parse_args()
    receiver = Receiver()
    with tempfile.TemporaryDirectory(prefix="bench-hour-", dir="/var/tmp") as scratch:
        root = Path(scratch)
        double = NvmlDouble(build(root / "nvml"), root)
        double.scenario(gpus(double))
        box = Box(root, receiver, dict(double.env))
        box.configure("")
        mains = []
        try:
            for number in range(RUNS):
                folder = root / f"run{number}"
                (folder / "saves").mkdir(parents=True)
                log = str(folder / "train.log")
                trainer = [
                    sys.executable,
                    str(TRAINER),
                    "--log",
                    log,
                    "--saves",
                    str(folder / "saves"),
                ]
                options = ("--log", log, "--checkpoints", str(folder / "saves"))
                box.run(*trainer, name=f"run{number}", options=options)
            mains = [run["pid"] for run in box.ask("runs")]
            samples = watch(box, given.minutes * 60.0)
            states = [run["state"] for run in box.ask("runs")]
            cards = len(box.ask("overview")["box"]["gpus"])
        finally:
            for pid in mains:
                end(pid)
            box.close()
            receiver.close()
    lives = judge(samples)
    result = {
        "minutes": given.minutes,
        "runs": states,
        "gpus": cards,
        "lives": lives,
        "store_bytes": samples[-1]["store_bytes"],
        "store_cap_bytes": Config().watch.store_max_bytes,
        "pushes": [(p.title, p.body[:200]) for p in receiver.pushes],
    }
    if given.samples:
        given.samples.write_text(json.dumps(samples))
    good = bool(lives) and cards == GPUS and result["store_bytes"] <= result["store_cap_bytes"]
    for row in lives:
        good = good and row["rss_growth"] <= MOST_GROWTH and row["pss_growth"] <= MOST_GROWTH
        good = good and row["descriptors_growth"] == row["threads_growth"] == 0
    print(json.dumps(result) if given.json else _table(result))
    return 0 if good else 1


def _table(result: Sample) -> str:
    """The figures for a person."""
    lines = [
        f"{result['minutes']:g} minutes, runs: {', '.join(result['runs'])}; {result['gpus']} GPUs"
    ]
    for row in result["lives"]:
        lines.append(f"daemon {row['life'] + 1}, second {row['from_s']:.0f} to {row['to_s']:.0f}")
        for what, unit in (("rss", 2**20), ("pss", 2**20), ("descriptors", 1), ("threads", 1)):
            first, last = (value / unit for value in row[what])
            lines.append(f"  {what:12} {first:8.2f} -> {last:8.2f}  {row[f'{what}_growth']:+.1%}")
    store, cap = (result[key] / 2**20 for key in ("store_bytes", "store_cap_bytes"))
    lines.append(f"store {store:.2f} MiB of {cap:.0f} MiB, {len(result['pushes'])} pushes")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
