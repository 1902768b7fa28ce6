"""What was started in containers is handed to the daemon, as a run with the name of its container."""

from __future__ import annotations

import argparse
import dataclasses
import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..config.run_spec import Rank, RunSpec
from ..engines.engine import Begun
from ..launch.discover import describe
from ..launch.homes import container_id
from ..system import procfs
from ..system.errors import MiddlewatchError, UsageError
from ..system.private import write_private
from ..system.processes import Process
from . import console
from .daemon import ensure
from .run import hand_over


class _Over(Exception):
    """The container has ended before it was looked at."""


def watched(args: argparse.Namespace, begun: Begun) -> tuple[list[str], list[str]]:
    """The ids of the runs that are watched now, and a sentence about each container that is not.

    Raises nothing: the job runs already.
    """
    runs, notes = [], []
    saves = str(begun.details.get("checkpoints", ""))
    for one in begun.details.get("containers", ()):
        try:
            runs.append(_hand_over(args, one, saves))
        except _Over as over:
            notes.append(f"{one['name']} {over}: {_typed(one, 'docker', 'logs')}")
        except MiddlewatchError as error:
            notes.append(f"{one['name']} is not watched from here: {error}; {_by_hand(one)}")
    return runs, notes


def _hand_over(args: argparse.Namespace, one: Mapping[str, Any], saves: str) -> str:
    """The id of the run. Raises :class:`_Over`, and MiddlewatchError where it cannot be watched from here."""
    if not one["pid"]:
        raise _Over("is over already")
    if one["host"]:
        raise MiddlewatchError(f"it runs on {one['host']}")
    spec = _spec(one["pid"], one["id"])
    ensure(args)
    folders = dict.fromkeys((*((saves,) if saves else ()), *spec.checkpoint_dirs))
    spec = dataclasses.replace(spec, name=one["name"], checkpoint_dirs=tuple(folders))
    return str(hand_over(args, spec)["run"])


def _spec(pid: int, container: str) -> RunSpec:
    """The run whose main process is the first one of a container, and whose ranks are in it: those of
    another machine's container, which may be here as well, are a run of their own."""
    _check(pid, container)
    try:
        found = RunSpec.from_json(describe(pid).to_json())
    except UsageError:  # it ends just now
        raise _Over("is over already") from None
    ticks = procfs.start_ticks(pid)
    ranks = tuple(
        rank for rank in found.ranks if container_id(Process(procfs.PROC, rank.pid)) == container
    )
    return dataclasses.replace(
        found,
        pid=pid,
        start_ticks=ticks,
        ranks=ranks or (Rank(pid, ticks or 0),),
        container=container,
    )


def _check(pid: int, container: str) -> None:
    """Raises as :func:`_hand_over` unless the process lives and is in the container."""
    if procfs.stat(pid) is None:
        raise _Over("is over already, or its engine is on another machine")
    if container_id(Process(procfs.PROC, pid)) == container:
        return
    now = procfs.stat(pid)
    if now is None or now.ended:
        raise _Over("is over already")
    # An engine on another machine: the process of that number is another one here.
    raise MiddlewatchError("its process cannot be seen")


def _by_hand(one: Mapping[str, Any]) -> str:
    typed = _typed(one, "middlewatch", "watch", "--pid", str(one["pid"]), "--name")
    return f"to watch it where its engine is: {typed}"


def _typed(one: Mapping[str, Any], *words: str) -> str:
    """What a person types, on the machine of a container, with its name as the last word."""
    there = ("ssh", one["host"]) if one["host"] else ()
    return shlex.join((*there, *words, one["name"]))


def amend(path: Path, **more: Any) -> None:
    """Add what was learnt after the launch to its record."""
    kept = {**json.loads(path.read_text(encoding="utf-8")), **more}
    write_private(path, (console.json_text(kept, indent=2) + "\n").encode())
