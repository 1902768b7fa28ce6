"""What every engine can be asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from ..jobs.artefact import Artefact

Standing = Literal["waiting", "running", "finished", "failed", "stopped", "unknown"]
"""``stopped``: ended from outside, by a person, a limit or an interruption."""


@dataclass(frozen=True)
class Begun:
    """A job that an engine has taken.

    ``id``: what the engine calls it. ``log``: the file of its output, if it has one here. ``look`` and
    ``end``: what a person types to see it and to end it.
    """

    id: str
    log: str = ""
    look: str = ""
    end: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    """More for the launch record: the digest of an image, the ids of several containers."""


@dataclass(frozen=True)
class State:
    """What the engine says of a job now. ``reason``: in its words, for a person."""

    standing: Standing
    reason: str = ""
    exit_code: int | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


class Engine(Protocol):
    """Drives one engine through its own client. Every call has a deadline and raises MiddlewatchError
    with what the client said."""

    def missing(self) -> tuple[str, str]:
        """Why it cannot be driven here and what to do, two sentences; two empty texts if it can be."""
        ...

    def start(self, artefact: Artefact, folder: Path) -> Begun:
        """Have it take the job, whose files lie in ``folder``."""
        ...

    def state(self, job_id: str) -> State:
        """What it says of the job now."""
        ...

    def end(self, job_id: str, folder: Path) -> None:
        """End the job; its log and record stay. What would go with it is put into ``folder``, that of its
        launch, before."""
        ...


@runtime_checkable
class Fetching(Protocol):
    """An engine that keeps what the job printed and wrote where only its client reaches it."""

    def fetch(self, job_id: str, folder: Path) -> list[Path]:
        """Bring it here, into ``folder``; the files that hold what was printed. Raises MiddlewatchError."""
        ...
