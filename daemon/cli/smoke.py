"""``smoke``: rehearse a training command before money is spent on it."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from middlewatch.sentinels.kit.numbers import size

from ..config.secrets import mask, mask_words
from ..launch.rehearsal import Rehearsal, folder, rehearse
from ..launch.rehearsal_plan import STEPS, Plan, plan
from ..system.clock import SystemClock
from ..system.errors import UsageError
from ..system.footprint import memory_left
from . import console
from .named_command import check_command
from .sizes import size_of

MEMORY_RATIO = 0.8
"""Part of the free memory that a rehearsal may take: a run that lives on this box needs the rest."""
UNKNOWN_MEMORY = 4 << 30
"""Bytes where the free memory is not known (our choice)."""
TAIL_SHOWN = 15
CHANGES_SHOWN = 12


def smoke(args: argparse.Namespace) -> int:
    """Run the command for two batches on the CPU; exit 1 when it fails, or proves nothing."""
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if not command:
        raise UsageError("no command to rehearse", "middlewatch smoke -- python train.py")
    if args.timeout <= 0:
        raise UsageError("--timeout takes more than 0 seconds", "--timeout 300")
    check_command(command)
    signal.signal(signal.SIGTERM, _leave)
    signal.signal(signal.SIGHUP, _leave)
    cwd, limit = Path.cwd(), _memory(args.memory)
    with folder() as out:
        planned = plan(command, cwd, out, args.framework or "", _extra(args.args))
        if not args.json:
            shown = mask_words(list(planned.command))
            console.say(f"rehearsing on the CPU: {shlex.join(shown)}", flush=True)
        try:
            seen = rehearse(
                planned,
                cwd,
                out,
                SystemClock(),
                timeout_s=args.timeout,
                memory_bytes=limit,
                environ=os.environ,
            )
        except OSError as error:
            raise UsageError(
                f"{command[0]} cannot be started: {error.strerror or error}"
            ) from error
    if args.json:
        console.as_json(_json(command, planned, seen, limit))
    else:
        for line in _lines(planned, seen):
            console.say(line)
    return 0 if seen.verdict == "passed" else 1


def _leave(number: int, frame: types.FrameType | None) -> NoReturn:
    """End through the clean-up: the processes of the rehearsal must not stay."""
    raise SystemExit(128 + number)


def _memory(told: str | None) -> int:
    if told is not None:
        return size_of(told)
    free = memory_left()
    return UNKNOWN_MEMORY if free is None else int(free * MEMORY_RATIO)


def _extra(told: str | None) -> list[str]:
    try:
        return shlex.split(told or "")
    except ValueError as error:
        raise UsageError(f"--args cannot be read: {error}", '--args="--max-steps 2"') from error


def _json(command: list[str], planned: Plan, seen: Rehearsal, limit: int) -> dict[str, Any]:
    reason = seen.why
    return {
        "verdict": seen.verdict,
        "passed": seen.verdict == "passed",
        "kind": None if reason is None else reason.kind,
        "line": None if reason is None else mask(reason.line),
        "at": None if reason is None else reason.at or None,
        "command": mask_words(command),
        "rehearsed": mask_words(list(planned.command)),
        "framework": planned.framework,
        "frameworks_seen": seen.frameworks,
        "changes": [mask(one) for one in seen.changes],
        "steps": seen.steps,
        "stopped_early": seen.stopped_early,
        "exit_status": seen.status,
        "seconds": round(seen.seconds, 2),
        "peak_bytes": seen.peak_bytes,
        "memory_limit_bytes": limit,
        "left_processes": seen.left_processes,
        "new_files": seen.new_files,
        "output_tail": [mask(line) for line in seen.tail],
    }


def _lines(planned: Plan, seen: Rehearsal) -> Iterator[str]:
    used = f"{seen.seconds:.1f} s, {size(seen.peak_bytes)}"
    if seen.verdict == "passed":
        yield f"passed: {seen.steps} steps of the optimizer in {used}"
    elif seen.verdict == "unproven":
        yield f"unproven: it ended well in {used}, but no step of an optimizer was seen"
        yield '  if it needs other words to be short and to train: --args="--max-steps 2"'
    elif seen.why is not None:
        at = f" (at {seen.why.at})" if seen.why.at else ""
        yield f"{seen.why.kind} error: {mask(seen.why.line)}{at}"
        for line in seen.tail[-TAIL_SHOWN:]:
            yield f"  | {mask(line)}"
        if seen.why.kind == "gpu":
            yield '  it asks for a GPU, which is hidden here: --args="--device cpu", if it has that'
        if seen.why.kind == "time":
            yield "  give it more time (--timeout), or a smaller model (--args)"
    for change in seen.changes[:CHANGES_SHOWN]:
        yield (
            f"  rehearsed {mask(change)}" if change in planned.changes else f"  set {mask(change)}"
        )
    if seen.stopped_early:
        yield f"  ended after {STEPS} steps: what it does at its end, a save for example, was not rehearsed"
    if seen.left_processes:
        yield f"  {seen.left_processes} processes outlived it and were killed"
    if seen.new_files:
        names = ", ".join(seen.new_files[:8])
        yield f"  it wrote into the working folder, and that was left as it is: {names}"
