"""What was started in containers is handed to the daemon, as a run with the name of its container."""

from __future__ import annotations

import argparse
import dataclasses
import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..config.run_spec import RunSpec
from ..engines.engine import Begun
from ..launch.discover import describe
from ..system import procfs
from ..system.errors import MiddlewatchError, UsageError
from ..system.private import write_private
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
    if not one["pid"]:
        raise _Over("is over already")
    if one["host"]:
        raise MiddlewatchError(f"it runs on {one['host']}")
    try:
        found = describe(one["pid"])
    except UsageError:  # there is no such process
        raise _Over("is over already, or its engine is on another machine") from None
    if found.container != one["id"]:  # an engine elsewhere: that process is another one here
        now = procfs.stat(one["pid"])
        if now is None or now.ended or now.start_ticks != found.start_ticks:
            raise _Over("is over already")
        raise MiddlewatchError("its process cannot be seen")
    ensure(args)
    spec = dataclasses.replace(
        RunSpec.from_json(found.to_json()),
        name=one["name"],
        checkpoint_dirs=tuple(
            dict.fromkeys((*((saves,) if saves else ()), *found.checkpoint_dirs))
        ),
    )
    return str(hand_over(args, spec)["run"])


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
