"""Rehearse a training command on the CPU, in bounded time and memory, and leave nothing behind.

The command runs for real, in its own session and with a folder of ours for what it writes. Its
processes are counted and measured ten times a second; all of them are killed at the end, also those
that left its session, because they become our children (``PR_SET_CHILD_SUBREAPER``).
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from ..system import cgroupfs, procfs
from ..system.clock import Clock
from . import rehearsal_hook
from .rehearsal_plan import STEPS, Plan, environment
from .rehearsal_verdict import Why, why

POLL_S = 0.1
LARGEST_OUTPUT = 64 << 20
"""Bytes that a program may print: two batches print some kilobytes. Our choice."""
TAIL_BYTES = 64 << 10
TAIL_LINES = 40
END_S = 2.0
"""Seconds between SIGTERM and SIGKILL for what is left at the end (our choice)."""
MOST_LISTED = 5000
"""Names of the working folder that are compared before and after."""
_PR_SET_CHILD_SUBREAPER = 36


@dataclass(slots=True)
class Rehearsal:
    """What a rehearsal showed."""

    verdict: str
    """``passed``, ``unproven`` (it ended well, but no step of an optimizer was seen) or ``failed``."""
    why: Why | None
    steps: int
    frameworks: list[str]
    changes: list[str]
    status: int | None
    stopped_early: bool
    """It was ended after its steps: what it does at its end, a last save for example, is not rehearsed."""
    seconds: float = 0.0
    peak_bytes: int = 0
    left_processes: int = 0
    """Processes that were still there at its end, and were killed."""
    new_files: list[str] = field(default_factory=list)
    """What it wrote into the working folder all the same."""
    tail: list[str] = field(default_factory=list)


def rehearse(
    planned: Plan,
    cwd: Path,
    out: Path,
    clock: Clock,
    *,
    timeout_s: float,
    memory_bytes: int,
    environ: Mapping[str, str],
) -> Rehearsal:
    """Run a plan to its end, or to its limits. ``out``: an empty folder, which the caller removes.

    Raises OSError where the command cannot be started.
    """
    hook = out / "hook"
    hook.mkdir()
    shutil.copyfile(rehearsal_hook.__file__, hook / "sitecustomize.py")
    report, output = out / "report.jsonl", out / "output.log"
    env = environment(environ, hook, out, report, free_port(), planned)
    before, names = _children(), set(_names(cwd))
    adopt()
    began = clock.monotonic()
    with output.open("wb") as log:
        process = subprocess.Popen(
            planned.command,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    peak, limit, left = 0, None, 0
    try:
        while process.poll() is None:
            used = memory_of(_ours(before))
            peak = max(peak, used)
            if clock.monotonic() - began > timeout_s:
                limit = Why("time", f"it was not done after {timeout_s:g} s")
            elif used > memory_bytes:
                limit = Why("memory", f"it took {_size(used)} of the {_size(memory_bytes)} it may")
            elif output.stat().st_size > LARGEST_OUTPUT:
                limit = Why("program", f"it printed more than {_size(LARGEST_OUTPUT)}")
            if limit is not None:
                break
            clock.sleep(POLL_S)
        seconds = clock.monotonic() - began
    finally:
        left = end_all(process, before, clock)
    found = _judged(planned, _events(report), _tail(output), str(cwd), process.returncode, limit)
    found.seconds, found.peak_bytes = seconds, peak
    found.left_processes = left if limit is None else 0
    found.new_files = sorted(set(_names(cwd)) - names)
    return found


def _judged(
    planned: Plan,
    events: Sequence[Mapping[str, Any]],
    tail: list[str],
    cwd: str,
    status: int,
    limit: Why | None,
) -> Rehearsal:
    """What the program told and how it ended, as a verdict."""
    steps = max((int(e["n"]) for e in events if e["event"] == "step"), default=0)
    exceptions = [e for e in events if e["event"] == "exception"]
    settings = dict.fromkeys(
        f"{e['name']} = {e['value'] or repr('')}" for e in events if e["event"] == "changed"
    )
    reason = limit
    if limit is None and status != 0:
        reason = why(exceptions[-1] if exceptions else None, tail, status, cwd)
    if limit is not None and steps:
        reason = Why(limit.kind, f"{limit.line}; {steps} of {STEPS} steps were done", limit.at)
    return Rehearsal(
        verdict="failed" if reason is not None else "passed" if steps else "unproven",
        why=reason,
        steps=steps,
        frameworks=list(dict.fromkeys(str(e["name"]) for e in events if e["event"] == "framework")),
        changes=[*planned.changes, *settings],
        status=None if limit is not None else status,
        stopped_early=any(e["event"] == "ended" for e in events),
        tail=tail,
    )


def adopt() -> None:
    """From now on descendants whose parent has ended become children of this process."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_all(process: subprocess.Popen[bytes], before: set[int], clock: Clock) -> int:
    """End the command and every process that came of it; returns how many outlived the command."""
    alone = process.poll() is not None
    left = [one for one in _ours(before) if one.pid != process.pid]
    found = _ours(before)
    for how in (signal.SIGTERM, signal.SIGKILL):
        for one in found:
            with contextlib.suppress(psutil.Error):
                one.send_signal(how)
        deadline = clock.monotonic() + END_S
        while found and clock.monotonic() < deadline:
            process.poll()
            _reap(before, process.pid)
            found = _ours(before)  # those that came meanwhile as well
            if found:
                clock.sleep(POLL_S / 5)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(END_S)
    return len(left) if alone else 0


def _children() -> set[int]:
    return {one.pid for one in psutil.Process().children(recursive=True)}


def _ours(before: set[int]) -> list[psutil.Process]:
    """Living processes that came of the command; zombies are no more."""
    found = []
    with contextlib.suppress(psutil.Error):
        for one in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if one.pid not in before and one.status() != psutil.STATUS_ZOMBIE:
                    found.append(one)
    return found


def _reap(before: set[int], main: int) -> None:
    """Take the exit status of those that became our children; that of the command is Popen's."""
    for one in psutil.Process().children():
        if one.pid != main and one.pid not in before:
            with contextlib.suppress(OSError):
                os.waitpid(one.pid, os.WNOHANG)


def memory_of(processes: Iterable[psutil.Process]) -> int:
    """Bytes of memory of processes; what they share is counted once."""
    total = 0
    for one in processes:
        rollup = procfs.read_or_none(f"{procfs.PROC}/{one.pid}/smaps_rollup") or b""
        shared_once = cgroupfs.kibibytes(rollup, b"Pss:")
        if shared_once is not None:
            total += shared_once
            continue
        with contextlib.suppress(psutil.Error):  # another user's, or an old kernel
            total += int(one.memory_info().rss)
    return total


def _size(count: int) -> str:
    return f"{count / (1 << 30):.1f} GiB" if count >= 1 << 29 else f"{count / (1 << 20):.0f} MiB"


def free_port() -> int:
    """A port that nobody listens at now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _names(folder: Path) -> Iterator[str]:
    """Names in a folder and in those directly below it, at most :data:`MOST_LISTED`."""
    count = 0
    with contextlib.suppress(OSError):
        for entry in sorted(os.scandir(folder), key=lambda e: e.name):
            yield entry.name
            inside: list[str] = []
            with contextlib.suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    inside = [f"{entry.name}/{name}" for name in os.listdir(entry.path)]
            yield from inside
            count += 1 + len(inside)
            if count > MOST_LISTED:
                return


def _events(report: Path) -> list[dict[str, Any]]:
    """What the hook told; a line that cannot be read is left out."""
    found = []
    with contextlib.suppress(OSError):
        for line in report.read_text("utf-8", "replace").splitlines():
            with contextlib.suppress(ValueError):
                event = json.loads(line)
                if isinstance(event, dict) and "event" in event:
                    found.append(event)
    return found


def _tail(output: Path) -> list[str]:
    with output.open("rb") as file:
        file.seek(max(0, output.stat().st_size - TAIL_BYTES))
        text = file.read().decode("utf-8", "replace")
    return text.replace("\r", "\n").splitlines()[-TAIL_LINES:]


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """A temporary folder for a rehearsal, which is gone afterwards."""
    made = Path(tempfile.mkdtemp(prefix="middlewatch-smoke-"))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)
