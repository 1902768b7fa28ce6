"""Run: one training job under watch, from launch to its end."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from middlewatch.sentinels.kit import codec

RunState = Literal["running", "stalled", "failing", "failed", "finished", "unknown"]
ENDED: frozenset[str] = frozenset({"failed", "finished"})

_UNSAFE = re.compile(r"[^\w.\-]+")


@dataclass(frozen=True, slots=True)
class Rank:
    """One process of a run that has a rank, or its only process."""

    pid: int
    start_ticks: int
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class RunSpec:
    """What to watch: how a run is handed to the daemon, and how the store keeps it.

    Paths are absolute. ``env_names`` are the names of the environment variables of the
    start command; values are never kept.
    """

    name: str
    pid: int | None = None
    """The process the run stands and falls with (launcher or only process)."""
    start_ticks: int | None = None
    ranks: tuple[Rank, ...] = ()
    world_size: int | None = None
    command: tuple[str, ...] = ()
    cwd: str = ""
    env_names: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()
    log_via: Mapping[str, str] = field(default_factory=dict)
    """For a log that has no name any more: path as shown -> ``/proc/PID/fd/N`` to read."""
    checkpoint_dirs: tuple[str, ...] = ()
    exit_file: str | None = None
    """Written by the supervisor of ``middlewatch run`` when the command ends."""
    started_at: float = 0.0
    home: str = "process"
    """Where it lives: ``process``, ``tmux``, ``systemd``, ``slurm``, ``docker``, ``nohup``."""
    notes: tuple[str, ...] = ()
    """What could not be found or watched, in words for a person."""
    resumed_from: str | None = None
    """Id of the run that this one goes on from."""
    id: str = ""

    def to_json(self) -> dict[str, Any]:
        """A plain dict that :meth:`from_json` takes back."""
        data: dict[str, Any] = codec.dump(self, RunSpec)
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RunSpec:
        """Build from a dict; unknown keys are ignored so that an older daemon can read.

        Raises ValueError for a value that is not what its field holds.
        """
        return codec.load(cls, data)


def run_id(name: str) -> str:
    """A fresh id: the name made safe for a folder, and four random hex digits."""
    safe = _UNSAFE.sub("-", name).strip("-.")[:40] or "run"
    return f"{safe}-{secrets.token_hex(2)}"
