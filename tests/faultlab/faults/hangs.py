"""Runs that live and do not go on."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ..bench import PROGRAMS, Bench
from ..lab import DELIVERY_S, T1_S, Fault, NotRun

IDLE_S = T1_S + 15 + DELIVERY_S
"""A case opens after T1; three looks, five seconds apart, decide it."""
SPIN_S = 2 * T1_S + DELIVERY_S


def plain(bench: Bench, mode: str = "none", *more: object, buffered: bool = False) -> None:
    """The small trainer in this mode, from a step on that differs."""
    words = ("--at", bench.random.randint(25, 60), "--seed", bench.random.randint(1, 1000))
    bench.train(*bench.program("plain", mode, *words, *more), buffered=buffered)


def doing(mode: str, *more: object, buffered: bool = False) -> Callable[[Bench], None]:
    """A row that is no more than the small trainer in this mode."""
    return lambda bench: plain(bench, mode, *more, buffered=buffered)


def compiled(bench: Bench, name: str) -> Path:
    """A shared library of ours, compiled for this row."""
    compiler = shutil.which("cc")
    if compiler is None:
        raise NotRun(f"no C compiler (cc) for {name}.c")
    library = bench.root / f"{name}.so"
    source = PROGRAMS / f"{name}.c"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-o", library, source], check=True
    )
    return library


def torch_is_there() -> None:
    """``NotRun`` without torch."""
    found = subprocess.run([sys.executable, "-c", "import torch"], capture_output=True, check=False)
    if found.returncode:
        raise NotRun("torch is not installed")


def stop(bench: Bench) -> None:
    """SIGSTOP, as a shell's Ctrl-Z or a scheduler sends it."""
    plain(bench)
    bench.until_said(f"step {bench.random.randint(20, 60)}/")
    bench.inject(lambda: os.kill(bench.subjects[0].pid, signal.SIGSTOP))


def ranks(bench: Bench, *words: object) -> None:
    """Two ranks under torchrun."""
    torch_is_there()
    launcher = (sys.executable, "-m", "torch.distributed.run", "--standalone")
    script = bench.program("ranks", "--at", bench.random.randint(25, 60), *words)[1:]
    bench.train(*launcher, "--nproc-per-node", "2", *script)


def loader(mode: str) -> Callable[[Bench], None]:
    """Two workers that load data."""

    def arrange(bench: Bench) -> None:
        torch_is_there()
        bench.train(*bench.program("loader", mode, "--at", bench.random.randint(25, 60)))

    return arrange


def uninterruptible(bench: Bench) -> None:
    """State D for as long as it lasts."""
    plain(bench, "stall", "--out", compiled(bench, "stall"))


def compiling(bench: Bench) -> None:
    """A compiler at work among the children for longer than T1."""
    named = bench.root / "cc1plus"
    named.symlink_to(Path(sys.executable).resolve())
    plain(bench, "compile", "--out", named, "--seconds", 90)


def ending(bench: Bench) -> None:
    """All steps done, and it takes a while to go."""
    steps = bench.random.randint(60, 90)
    bench.train(*bench.program("plain", "none", "--steps", steps))


def slow_saving(bench: Bench) -> None:
    """A save over a slow mount."""
    out = bench.root / "out"
    words = ("slow_save", "--seconds", 90, "--size", 300 << 20, "--out", out)
    bench.train(*bench.program("plain", *words), checkpoints=[out])


def stray(bench: Bench) -> None:
    """All steps done, and a thread keeps the process."""
    steps = bench.random.randint(60, 90)
    bench.train(*bench.program("plain", "stray", "--steps", steps, "--at", steps))


HANG = Fault(
    "12",
    "lock",
    doing("lock"),
    classes=frozenset({"hang"}),
    cause=r"lock|futex",
    remedy=r"stack|py-spy|dump|rank|worker",
    deadline_s=IDLE_S,
)
QUIET = Fault("C3", "healthy_trainer", doing("none"), kind="control", length_s=110)

FAULTS = (
    Fault(
        "11",
        "sigstop",
        stop,
        classes=frozenset({"stopped"}),
        cause="stopped|state T",
        remedy=r"CONT",
        deadline_s=IDLE_S,
    ),
    HANG,
    replace(
        HANG,
        number="13",
        name="rank_left_collective",
        arrange=lambda bench: ranks(bench, "--absent", bench.random.choice([0, 1])),
        cause=r"collective|all_?reduce|rank \d",
        weight=0.3,
    ),
    replace(
        HANG,
        number="14",
        name="worker_sleeps",
        arrange=loader("sleep"),
        cause=r"input|loader|worker|data",
        weight=0.15,
    ),
    Fault(
        "15",
        "worker_killed",
        loader("kill"),
        classes=frozenset({"dataloader_worker_killed"}),
        also=frozenset({"process_killed", "python_exception"}),
        cause=r"worker",
        remedy=r"shm|memory|worker|signal|error",
        deadline_s=30,
        weight=0.15,
    ),
    Fault(
        "16",
        "worker_slow",
        loader("starve"),
        classes=frozenset({"input_starved"}),
        cause=r"data|input|loader|worker",
        remedy=r"worker|cache|storage|data|load",
        least="warning",
        most="warning",
        deadline_s=IDLE_S,
        weight=1.0,
    ),
    Fault(
        "17",
        "state_d",
        uninterruptible,
        classes=frozenset({"storage_stall"}),
        cause=r"state D|storage|uninterruptible|mount",
        remedy=r"mount|storage|signal|driver",
        deadline_s=IDLE_S,
    ),
    replace(
        HANG,
        number="18",
        name="endless_loop",
        arrange=doing("spin"),
        cause="spin|loop",
        deadline_s=SPIN_S,
        weight=1.0,
    ),
    Fault(
        "19",
        "not_exiting",
        stray,
        classes=frozenset({"not_exiting"}),
        cause=r"finish|complete|end|exit",
        remedy=r"result|checkpoint|verif|look",
        least="warning",
        deadline_s=60 + DELIVERY_S,
    ),
    QUIET,
    replace(
        QUIET,
        number="C4",
        name="healthy_ranks",
        arrange=ranks,
        weight=0.3,
    ),
    replace(QUIET, number="C5", name="healthy_loader", arrange=loader("none"), weight=0.15),
    replace(QUIET, number="C6", name="finished_and_gone", arrange=ending, length_s=60),
    replace(
        QUIET,
        number="34a",
        name="buffered_output",
        arrange=doing("none", "--pace", 0.05, buffered=True),
        length_s=150,
    ),
    replace(
        QUIET,
        number="34b",
        name="silent_evaluation",
        arrange=doing("evaluate", "--seconds", 100),
        length_s=140,
        weight=0.3,
    ),
    replace(QUIET, number="34c", name="long_compile", arrange=compiling, length_s=120, weight=1.0),
    replace(
        QUIET,
        number="34d",
        name="slow_checkpoint",
        arrange=slow_saving,
        length_s=130,
    ),
)
