"""Run: one training job under watch, from launch to its end."""

from __future__ import annotations

import dataclasses
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

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
    """Written by the keeper of ``middlewatch run`` when the command ends."""
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
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RunSpec:
        """Build from a dict; unknown keys are ignored so that an older daemon can read.

        Raises ValueError for a value that is not what its field holds.
        """
        known = {f.name: f.type for f in dataclasses.fields(cls)}
        values = {k: v for k, v in data.items() if k in known}
        for name, value in values.items():
            if not _fits(value, str(known[name])):
                raise ValueError(f"{name} cannot be {value!r}")
        for name in ("command", "env_names", "logs", "checkpoint_dirs", "notes"):
            values[name] = tuple(values.get(name) or ())
        values["ranks"] = tuple(
            Rank(r["pid"], r["start_ticks"], r.get("rank")) for r in values.get("ranks") or ()
        )
        return cls(**values)


_KINDS: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (float, int),
    "None": (type(None),),
    "tuple[str, ...]": (list, tuple),
    "tuple[Rank, ...]": (list, tuple),
    "Mapping[str, str]": (dict,),
}


def _fits(value: object, kind: str) -> bool:
    """Whether a value that came over the wire is of a field's type."""
    if isinstance(value, bool):
        return False
    if not any(isinstance(value, _KINDS[one]) for one in kind.split(" | ")):
        return False
    if kind.startswith("tuple[str") and isinstance(value, (list, tuple)):
        return all(isinstance(one, str) for one in value)
    return True


def run_id(name: str) -> str:
    """A fresh id: the name made safe for a folder, and four random hex digits."""
    safe = _UNSAFE.sub("-", name).strip("-.")[:40] or "run"
    return f"{safe}-{secrets.token_hex(2)}"
