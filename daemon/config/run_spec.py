"""Description of a run: which processes, logs and folders belong to it."""

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
    """What to watch: sent to the daemon by ``middlewatch run`` and ``watch``, kept in the store.

    Paths are absolute, ``started_at`` is in epoch seconds, ``start_ticks`` in clock ticks since
    boot. ``env_names`` are the names of the environment variables of the start command; their
    values are never kept.
    """

    name: str
    pid: int | None = None
    """The main process, launcher or only process: the run ends when it ends."""
    start_ticks: int | None = None
    ranks: tuple[Rank, ...] = ()
    world_size: int | None = None
    command: tuple[str, ...] = ()
    cwd: str = ""
    env_names: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()
    log_via: Mapping[str, str] = field(default_factory=dict)
    """For a log whose file was deleted or renamed: path as shown -> ``/proc/PID/fd/N`` to read."""
    checkpoint_dirs: tuple[str, ...] = ()
    exit_file: str | None = None
    """Written by the supervisor of ``middlewatch run`` when the command ends."""
    started_at: float = 0.0
    home: str = "process"
    """Where it runs: ``process``, ``tmux``, ``screen``, ``systemd``, ``slurm``, ``docker``,
    ``nohup``."""
    notes: tuple[str, ...] = ()
    """What could not be found or watched: sentences for a person."""
    resumed_from: str | None = None
    """Id of the earlier run that this one continues."""
    attempt: int = 1
    """Which start of the same command this is, by a wrapper or a person."""
    parent_pid: int | None = None
    """What started it: the shell, queue or wrapper; with ``parent_ticks`` as ``pid`` with
    ``start_ticks``."""
    parent_ticks: int | None = None
    provisional: str = ""
    """Why it was taken for a training, if only by how it looks (``it holds a GPU``): until it has
    shown that it trains nothing about it is pushed. Empty for every other run."""
    id: str = ""

    def to_json(self) -> dict[str, Any]:
        """A plain dict that :meth:`from_json` takes back."""
        data: dict[str, Any] = codec.dump(self, RunSpec)
        for name, usual in _LATER.items():
            if data[name] == usual:
                del data[name]
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RunSpec:
        """Build from a dict. Unknown keys are ignored, so that an older daemon can read newer data.

        Raises ValueError for a value of the wrong type.
        """
        return codec.load(cls, data)


_LATER = {"attempt": 1, "parent_pid": None, "parent_ticks": None, "provisional": ""}
"""Fields that 0.1.0 does not know, and their defaults: most runs are written as it wrote them."""


def run_id(name: str) -> str:
    """A new id: the name, with unsafe characters replaced, and four random hex digits."""
    safe = _UNSAFE.sub("-", name).strip("-.")[:40] or "run"
    return f"{safe}-{secrets.token_hex(2)}"
