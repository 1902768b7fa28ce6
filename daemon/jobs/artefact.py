"""What a place is given: files that a person can read and change, and the commands that are typed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .job import Job


@dataclass(frozen=True)
class Artefact:
    """What ``launch --print`` shows, and what is done without it.

    ``files``: name -> text; they are written into the folder of the launch, and one that begins with
    ``#!`` may be executed. ``commands``: typed there, in this order; of several machines each has its own,
    and ``hosts`` says which (empty: here).
    """

    place: str
    commands: tuple[tuple[str, ...], ...]
    files: Mapping[str, str] = field(default_factory=dict)
    hosts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """What a person should know before it starts: sentences."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What the driver of the place has to know and cannot read from the commands; plain JSON values."""


@dataclass(frozen=True)
class Here:
    """What is known where ``launch`` is typed.

    ``name``: of the run, safe as a name of files, containers and jobs. ``environ``: the names of the
    variables that are set here. ``hosts``: the machines, the first is the master.
    """

    name: str
    environ: frozenset[str] = frozenset()
    hosts: Sequence[str] = ()
    free_port: int = 0
    """One that nobody listens at, where the job asks for a free one."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """Files that go along to a place which is sent nothing else: name below the working directory -> text."""


def passed(job: Job, here: Here) -> tuple[str, ...]:
    """Names of the variables that are handed on: those of ``pass_env`` that are set here."""
    return tuple(name for name in job.main.pass_env if name in here.environ)


def not_passed(job: Job, here: Here) -> tuple[str, ...]:
    """Sentences about variables of ``pass_env`` that are not set, or set and not exported."""
    missing = [name for name in job.main.pass_env if name not in here.environ]
    return tuple(
        f"{name} is to be handed on, and is not set here (or not exported: export {name})"
        for name in missing
    )
