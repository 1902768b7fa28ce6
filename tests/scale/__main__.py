"""What the watch costs on a crowded box: see ``scripts/bench-scale``."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..fakes.box import Box, Receiver
from . import measure
from .scenes import SCENES

LONGEST_PING_S = 1.0
LONGEST_NAN_S = 10.0
NAN_PATIENCE_S = 60.0

Row = dict[str, Any]


def bench(name: str, seconds: float) -> Row:
    """One scene, with a daemon of its own."""
    receiver = Receiver()
    with tempfile.TemporaryDirectory(prefix=f"bench-scale-{name}-", dir="/var/tmp") as scratch:
        box = Box(Path(scratch), receiver)
        box.configure("")
        try:
            box.command("start")
            return _measure(box, name, seconds)
        finally:
            box.close()
            receiver.close()


def _measure(box: Box, name: str, seconds: float) -> Row:
    pid = box.ask("ping")["pid"]
    socket = box.state / "middlewatch.sock"
    began = time.monotonic()
    with measure.Pinger(socket) as setting_up:
        lose = SCENES[name](box)
    set_up_s = time.monotonic() - began
    with measure.Pinger(socket) as pinger:
        cpu, began = measure.cpu_s(pid), time.monotonic()
        time.sleep(seconds / 2)
        told_s = _nan(box, lose)
        time.sleep(max(0.0, began + seconds - time.monotonic()))
        lasted, cpu = time.monotonic() - began, measure.cpu_s(pid) - cpu
        rss, pss = measure.own_rss(pid), measure.pss_bytes(pid)
        opened = measure.descriptors(pid)
    daemon, told = box.ask("overview")["daemon"], box.ask("doctor")
    return {
        "scene": name,
        "set_up_s": round(set_up_s, 1),
        "seconds": round(lasted, 1),
        "cpu_cores": round(cpu / lasted, 4),
        "rss_mib": round(rss / 2**20, 1),
        "pss_mib": round(pss / 2**20, 1),
        "descriptors": opened,
        "descriptors_limit": told["footprint"]["descriptors_limit"],
        "descriptors_kept": told["footprint"]["descriptors_kept"],
        "descriptors_without": told["footprint"]["descriptors_without"],
        "runs": told["runs"]["living"],
        **pinger.figures(),
        "ping_longest_at_set_up_s": setting_up.figures()["ping_longest_s"],
        "longest_turn_s": daemon.get("longest_turn_s"),
        "nan_to_push_s": told_s,
    }


def _nan(box: Box, lose: Callable[[], None]) -> float | None:
    """Seconds until the receiver has the push about a loss that is a NaN from its next line on (up to a
    second later); ``None``: it never came."""
    known = len(box.receiver.pushes)
    lose()
    wrote, began = time.time(), time.monotonic()
    while time.monotonic() - began < NAN_PATIENCE_S:
        for push in box.receiver.pushes[known:]:
            if "nan" in push.title.lower():
                return round(push.at - wrote, 2)
        time.sleep(0.05)
    return None


def main() -> int:
    """Run the scenes, print a table. Exit status 1 when a ping or a NaN took longer than asked."""
    words = argparse.ArgumentParser(prog="scripts/bench-scale", description=__doc__)
    words.add_argument("--scene", action="append", choices=list(SCENES), help="this one only")
    words.add_argument("--seconds", type=float, default=60.0, help="of measuring (default: 60)")
    words.add_argument("--json", action="store_true")
    given = words.parse_args()
    rows = []
    for name in given.scene or SCENES:
        rows.append(bench(name, given.seconds))
        print(json.dumps(rows[-1]) if given.json else _line(rows[-1]), flush=True)
    return 0 if all(map(_kept, rows)) else 1


def _kept(row: Row) -> bool:
    told = row["nan_to_push_s"]
    return row["ping_longest_s"] <= LONGEST_PING_S and told is not None and told <= LONGEST_NAN_S


def _line(row: Row) -> str:
    told = row["nan_to_push_s"]
    return (
        f"{row['scene']:12} cpu {row['cpu_cores']:.3f}  rss {row['rss_mib']:.1f}  pss {row['pss_mib']:.1f} MiB"
        f"  ping p50 {row['ping_p50_s']:.3f} p99 {row['ping_p99_s']:.3f} longest {row['ping_longest_s']:.2f} s"
        f"  {row['runs']} runs with {row['descriptors']} of {row['descriptors_limit']} descriptors open,"
        f" {row['descriptors_kept']} kept for speed, {row['descriptors_without']} more wanted"
        f"  longest turn {row['longest_turn_s']} s  NaN told after {'NEVER' if told is None else told} s"
        f"{'' if _kept(row) else '  TOO SLOW'}"
    )


if __name__ == "__main__":
    sys.exit(main())
