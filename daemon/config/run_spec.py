"""Description of a run: which processes, logs and folders belong to it."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from middlewatch.sentinels.kit import codec

from .save_folder import SaveFolder, joined

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
    """More are added for as long as the run lives."""
    save_folders: tuple[SaveFolder, ...] = ()
    """How the folders among ``checkpoint_dirs`` are known that were found later, and what of them
    is the run's."""
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
    uid: int | None = None
    """The user that the command runs as; ``None``: not known, as for a run that 0.1.0 has stored.
    Only as this user the command may be started again."""
    gid: int | None = None
    """Its group."""
    again: int = 0
    """How often it may be started again by itself after an end that allows it; 0: a person does that."""
    again_used: int = 0
    """How often that was done already on the way to this attempt."""
    plan: str = ""
    """File with the phases of the training that it is one of; empty: it has none."""
    phase: str = ""
    """Name of the phase that it is."""
    milestones: tuple[str, ...] = ()
    """Saves with which earlier phases ended, or this one."""
    container: str = ""
    """Id of the container that it is in and we are not; empty: in none that /proc shows."""
    container_name: str = ""
    """The name of that container, once its engine has told it."""
    container_log: str = ""
    """What the log of the container is called that is read as well as ``logs``: ``docker:NAME``."""
    id: str = ""

    def learnt(self, folders: Iterable[SaveFolder]) -> RunSpec:
        """With more folders, or more names of known ones."""
        known = {one.path: one for one in self.save_folders}
        dirs = dict.fromkeys(self.checkpoint_dirs)
        for one in folders:
            if one.path in known:
                one = joined(known[one.path], one)
            elif one.path in dirs:
                one = joined(SaveFolder(one.path), one)
            known[one.path] = one
            dirs[one.path] = None
        return replace(self, checkpoint_dirs=tuple(dirs), save_folders=tuple(known.values()))

    @property
    def all_logs(self) -> tuple[str, ...]:
        """``logs``, and what the log of its container is called."""
        return (*self.logs, *((self.container_log,) if self.container_log else ()))

    def folder(self, path: str) -> SaveFolder:
        """What is known of one of ``checkpoint_dirs``."""
        known = (one for one in self.save_folders if one.path == path)
        return next(known, SaveFolder(path, "it was named when the watch began"))

    def whole_dirs(self) -> tuple[str, ...]:
        """Those of ``checkpoint_dirs`` that are the run's alone."""
        shared = {one.path for one in self.save_folders if not one.whole}
        return tuple(path for path in self.checkpoint_dirs if path not in shared)

    def to_json(self) -> dict[str, Any]:
        """A plain dict that :meth:`from_json` takes back."""
        data: dict[str, Any] = codec.dump(self, RunSpec)
        if not self.save_folders:  # as in older versions
            del data["save_folders"]
        for name, usual in _LATER.items():
            if getattr(self, name) == usual:
                del data[name]
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RunSpec:
        """Build from a dict. Unknown keys are ignored, so that an older daemon can read newer data.

        Raises ValueError for a value of the wrong type.
        """
        return codec.load(cls, data)


_LATER: dict[str, object] = {
    "attempt": 1,
    "parent_pid": None,
    "parent_ticks": None,
    "provisional": "",
    "uid": None,
    "gid": None,
    "again": 0,
    "again_used": 0,
    "plan": "",
    "phase": "",
    "milestones": (),
    "container": "",
    "container_name": "",
    "container_log": "",
}
"""Fields that 0.1.0 does not know, and their defaults: most runs are written as it wrote them."""


def run_id(name: str) -> str:
    """A new id: the name, with unsafe characters replaced, and four random hex digits."""
    safe = _UNSAFE.sub("-", name).strip("-.")[:40] or "run"
    return f"{safe}-{secrets.token_hex(2)}"
