"""The scenes of ``scripts/bench-scale``: each fills a box in one way."""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from middlewatch.daemon.config.run_spec import RunSpec
from middlewatch.daemon.system import procfs

from ..fakes.box import Box
from .trainer import save

HERE = Path(__file__).parent
WRITERS = [sys.executable, str(HERE / "writers.py")]
MANY = 300
PROCESSES = 5_000
SAVES = 20_000
FILES = 1_000_000
PER_FOLDER = 50_000
FLOOD_MIB_S = 200.0
FEW_DESCRIPTORS, FEW_RUNS = 128, 40

Scene = Callable[[Box], Callable[[], None]]
"""Sets the scene up beside a running daemon; returns what makes the loss of one run a NaN."""


def _watch(box: Box, name: str, log: Path, saves: tuple[str, ...] = ()) -> int:
    """Put a run under watch whose process sleeps; returns its pid."""
    pid = box.spawn("sleep", "86400").pid
    spec = RunSpec(name, pid, procfs.start_ticks(pid), logs=(str(log),), checkpoint_dirs=saves)
    box.ask("watch", spec=spec.to_json())
    return pid


def _train(box: Box, count: int, saves: tuple[str, ...] = ()) -> Callable[[], None]:
    """So many runs that log a line a second; the one in the middle gets the NaN."""
    logs = box.root / "logs"
    logs.mkdir()
    box.spawn(*WRITERS, "lines", str(logs), str(count))
    for n in range(count):
        _watch(box, f"run{n}", logs / f"{n}.log", saves)
    return lambda: _write(logs / "nan", str(count // 2))


def _write(path: Path, text: str) -> None:
    fresh = path.with_suffix(".fresh")
    fresh.write_text(text)
    fresh.rename(path)


def one(box: Box) -> Callable[[], None]:
    """One run: the reference."""
    return _train(box, 1)


def runs(box: Box) -> Callable[[], None]:
    """300 runs, each with a log of its own and a line a second."""
    return _train(box, MANY)


def processes(box: Box) -> Callable[[], None]:
    """5,000 idle processes on the box, and the search for new runs is on."""
    program = box.root / "idle"
    subprocess.run(["cc", "-O1", "-o", str(program), str(HERE / "idle.c")], check=True)
    crowd = box.spawn(str(program), str(PROCESSES), stdout=subprocess.PIPE)
    assert crowd.stdout is not None
    assert crowd.stdout.readline() == b"ready\n"
    box.ask("finding", on=True)
    return _train(box, 1)


def saves(box: Box) -> Callable[[], None]:
    """One run with 20,000 checkpoints in its folder."""
    folder = box.root / "saves"
    folder.mkdir()
    save(folder / "step-0.safetensors")
    whole = (folder / "step-0.safetensors").read_bytes()
    for step in range(1, SAVES):
        (folder / f"step-{step}.safetensors").write_bytes(whole)
    return _train(box, 1, (str(folder),))


def files(box: Box) -> Callable[[], None]:
    """One run whose folder for checkpoints has a million files that are none: names of a few, which
    take little of the disk."""
    folder = box.root / "saves"
    for n in range(FILES):
        if n % PER_FOLDER == 0:
            below = folder / f"shard{n // PER_FOLDER}"
            below.mkdir(parents=True)
            first = below / f"sample-{n}.txt"
            first.write_text("x")
        else:
            os.link(first, below / f"sample-{n}.txt")
    return _train(box, 1, (str(folder),))


def flood(box: Box) -> Callable[[], None]:
    """One run that logs 200 MiB a second, or what the disk takes, beside one that logs a line."""
    log = box.root / "flood.log"
    box.spawn(*WRITERS, "flood", str(log), str(FLOOD_MIB_S))
    _watch(box, "flood", log)
    return _train(box, 1)


def ended(box: Box) -> Callable[[], None]:
    """300 runs that have ended, and one that lives."""
    logs = box.root / "ended"
    logs.mkdir()
    writer = box.spawn(*WRITERS, "lines", str(logs), str(MANY))
    pids = [_watch(box, f"ended{n}", logs / f"{n}.log") for n in range(MANY)]
    time.sleep(60.0)  # they log something that could be kept
    writer.kill()
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 9)
    for process in box.started:
        if process.pid in pids:
            process.wait()
    return _train(box, 1)


def descriptors(box: Box) -> Callable[[], None]:
    """40 runs under a daemon that may open 128 descriptors and no more."""
    pid = box.ask("ping")["pid"]
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (FEW_DESCRIPTORS, FEW_DESCRIPTORS))
    return _train(box, FEW_RUNS)


SCENES: dict[str, Scene] = {
    scene.__name__: scene
    for scene in (one, runs, processes, saves, files, flood, ended, descriptors)
}
