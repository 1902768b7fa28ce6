"""Finds the training runs of the box; a process of its own, because that takes some CPU time.

A question is one line ``{"known": [[pid, start_ticks], …], "gpu_pids": [pid, …], "panes": DIR}``:
the processes of the runs that are watched, those that NVML names, and the folder for copies of tmux
panes. The answer is ``{"runs": [spec, …], "cpu_s": S}``, without the runs that have a known process, and
with the CPU time that the search took.
"""

from __future__ import annotations

import dataclasses
import json
import os
from typing import Any

from ...launch.discover import FoundRun, attached, discover
from ...launch.homes import readable
from ...system.errors import MiddlewatchError
from ...system.worker_main import serve, step_back

QUIET_S = 20.0
"""Seconds without a question after which the program ends: it is 25 MiB for a box that is quiet."""


def answer(line: bytes) -> dict[str, Any]:
    """The runs of the box now; ``error`` when they cannot be found."""
    before = _cpu_s()
    try:
        asked = json.loads(line)
        known = {(int(pid), int(ticks)) for pid, ticks in asked["known"]}
        found = discover(gpu_pids=asked["gpu_pids"], log_dir=asked.get("panes"))
        fresh = [run for run in found if not _members(run) & known]
        silent: set[int] = set()
        told = [_told(run, silent) for run in fresh if run.pid and readable(run.pid)]
        return {"runs": told, "cpu_s": round(_cpu_s() - before, 3)}
    except (ValueError, TypeError, KeyError, OSError, MiddlewatchError) as error:
        return {"error": f"{type(error).__name__}: {error}"[:400]}


def _cpu_s() -> float:
    """Seconds on a CPU so far."""
    spent = os.times()
    return spent.user + spent.system


def _members(run: FoundRun) -> set[tuple[int | None, int | None]]:
    return {(run.pid, run.start_ticks), *((r.pid, r.start_ticks) for r in run.ranks)}


def _told(run: FoundRun, silent: set[int]) -> dict[str, Any]:
    try:
        run = attached(run, silent)
    except MiddlewatchError as error:
        run = dataclasses.replace(run, notes=(*run.notes, str(error)))
    return run.to_json()


def main() -> None:
    """Answer until stdin ends, or until nobody has asked for a while."""
    step_back()
    serve(answer, lambda: QUIET_S)


if __name__ == "__main__":
    main()
