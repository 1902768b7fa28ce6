"""Which runs an observation of the whole box concerns: every run is judged by its own parts of it.

A sample of a disk goes to the runs that have files there, an event of the kernel log to the run
whose process or GPU it names. The state of a source of the box goes to all.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import PurePosixPath

from middlewatch.sentinels.kit import (
    DiskSample,
    GpuSample,
    LogEvent,
    Observation,
    PartsUsed,
    SourceState,
)

from ..sources.disk import Disks, PlacesOfRun
from ..system import procfs
from .context import Context
from .watched_run import WatchedRun

SHM = "/dev/shm"
WRITES = frozenset(("disk_full", "inode_exhausted", "quota_exceeded", "ckpt_write_failed"))
"""Classes of lines that may name a path that could not be written."""
_QUOTED = re.compile(r"['\"]((?:[\w.@ -]*/)+[^'\"/]{1,255})['\"]")
_PID = re.compile(r"\bpid[=: ]+'?(\d+)|\w\[(\d+)\]: ")
"""``pid=123`` in an Xid, ``python[123]: segfault`` in a line about a fault."""
APPLICATION_XIDS = (13, 31, 43, 45, 68, 69)
"""Xids that a program causes on its GPU (NVIDIA's catalogue): they concern that program alone."""


class Attribution:
    """Distributes what the sources of the box saw to the histories of the runs."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._disks: Disks | None = None
        self._parts: dict[str, tuple[PartsUsed | None, frozenset[str]]] = {}
        """Run -> what its places were worked out from."""
        self._moved = False
        """A run came, went or has another checkpoint folder since the disks were arranged."""
        self._first_pids = procfs.sees_first_pids()

    # -- places -----------------------------------------------------------------------------

    def watch_disks(self) -> None:
        """Watch the places of all living runs, /dev/shm and the state directory.

        After the first time this is done before the next read of the disks, once for all runs that
        came, went or changed meanwhile: 300 runs that are taken up are arranged once, not 300 times.
        """
        self._moved = True
        if self._disks is None:
            self._disks = Disks({})
            self._disks.before_read = self._arrange
            self._arrange()
            self._context.box_sources.append(self._context.pump.add(self._disks, self.take))

    def _arrange(self) -> None:
        """Watch other disks if a run came or went, or has other places than before."""
        context = self._context
        living = {run.spec.id: run for run in context.living_runs()}
        parts = {one: (run.history.parts, _refused(run)) for one, run in living.items()}
        if self._disks is None or (parts == self._parts and not self._moved):
            return
        self._parts, self._moved = parts, False
        box = {"state": [str(context.state.root)], "shm": [SHM]}
        context.box.disks.clear()  # some may be nobody's now
        self._disks.arrange(box, {one: _places(run) for one, run in living.items()})

    # -- observations -----------------------------------------------------------------------

    def take(self, seen: Iterable[Observation]) -> None:
        """Give each observation of a source of the box to the runs that it concerns."""
        living = self._context.living_runs()
        gpus = False
        for one in seen:
            if isinstance(one, DiskSample):
                self._take_disk(one, living)
            elif isinstance(one, GpuSample):
                self._context.box.add(one)
                gpus = True
            elif isinstance(one, LogEvent):
                for run in living:
                    if self._concerns(one, run):
                        run.add_observations([one])
            elif isinstance(one, SourceState):
                for run in living:
                    run.add_observations([one])
        if gpus:
            self._share_gpus(living)

    def _take_disk(self, seen: DiskSample, living: Iterable[WatchedRun]) -> None:
        if self._disks is None:
            return
        box = self._context.box
        box.add(seen)
        users = self._disks.users(seen.mount)
        given: dict[tuple[str, ...], DiskSample] = {seen.holds: seen}
        for run in living:
            holds = users.get(run.spec.id)
            if holds is None:
                run.history.disks.pop(seen.mount, None)
                continue
            if holds not in given:
                given[holds] = replace(seen, holds=holds)
            run.history.add(given[holds])
            run.fresh.add(DiskSample)

    def _share_gpus(self, living: Iterable[WatchedRun]) -> None:
        """Work out which GPUs each run uses, and which none is known to use."""
        cards = self._context.box.cards
        taken: set[int] = set()
        for run in living:
            history = run.history
            history.gpus.look(history.parts, history.pids(), cards)
            taken |= history.gpus.of_run or frozenset()
            run.fresh.add(GpuSample)
        stray = frozenset(card.index for card in cards) - taken
        for run in living:
            run.history.stray_gpus = stray

    def share_memory(self) -> None:
        """Work out which runs live in a control group together."""
        living = [run.history for run in self._context.living_runs() if run.history.memory]
        groups = Counter(history.memory[-1].cgroup for history in living)
        for history in living:
            history.memory_shared = groups[history.memory[-1].cgroup] > 1

    def _concerns(self, event: LogEvent, run: WatchedRun) -> bool:
        """True for an event of the box that may be about this run."""
        ours = self._names_process(event, run)
        card = self._card(event)
        if card is None:
            return ours is not False
        known = run.history.gpus.of_run
        if event.details.get("xid") in APPLICATION_XIDS and ours is not None:
            return ours
        return ours or known is None or card in known

    def _names_process(self, event: LogEvent, run: WatchedRun) -> bool | None:
        """Whether the event names a process of the run; ``None``: none, or none that we can tell
        (the kernel log has the pids of the box, and we may be in a container)."""
        found = _PID.search(event.text)
        pid = event.details.get("pid") or (found and int(found[1] or found[2]))
        if not isinstance(pid, int) or event.file != "kernel" or not self._first_pids:
            return None
        history = run.history
        return (
            pid == history.facts.pid
            or any(pid == p.pid for look in history.process_samples for p in look.processes)
            or any(pid == ended.pid for ended in history.endings)
        )

    def _card(self, event: LogEvent) -> int | None:
        """The index of the GPU that the event names."""
        index = event.details.get("gpu")
        if event.file == "nvml":
            return index if isinstance(index, int) else None
        wanted = _address(str(event.details.get("gpu_bus", "")))
        if wanted is None:
            return None
        cards = self._context.box.cards
        return next((c.index for c in cards if _address(c.bus_id) == wanted), None)

    # -- who is concerned -------------------------------------------------------------------

    def users(self, place: str) -> list[str]:
        """Ids of the living runs that use a place of the box (:attr:`Finding.place`)."""
        kind, _, name = place.partition(":")
        return [run.spec.id for run in self._context.living_runs() if _uses(run, kind, name)]


def _uses(run: WatchedRun, kind: str, name: str) -> bool:
    history = run.history
    if kind == "mount":
        return name in history.disks
    if kind == "gpu":
        mine = history.gpus.of_run
        cards = [c for c in history.box.cards if f"gpu:{name}" == c.place]
        return any(c.index in (history.stray_gpus if mine is None else mine) for c in cards)
    if kind in ("memory", "cpu"):
        return bool(history.memory) and history.memory[-1].cgroup == name
    return kind == "source" and name in history.sources


def _places(run: WatchedRun) -> PlacesOfRun:
    spec, parts = run.spec, run.history.parts
    places: dict[str, list[str]] = {
        "checkpoints": list(spec.checkpoint_dirs),
        "log": list(spec.logs),
        "cwd": [spec.cwd] if spec.cwd else [],
    }
    if parts is None:
        return PlacesOfRun(places | {"files": sorted(_refused(run))})
    places["files"] = sorted(parts.folders | _refused(run))
    places["tmp"] = sorted(parts.temporary)
    places["shm"] = [SHM] if parts.shm else []
    return PlacesOfRun(places, parts.devices)


def _refused(run: WatchedRun) -> frozenset[str]:
    """The folders in which the run could not write, by its log: a file that is opened, written and
    closed in a millisecond is in no list of open files."""
    paths = (
        m[1] for e in run.history.events if e.trouble in WRITES for m in _QUOTED.finditer(e.text)
    )
    home = PurePosixPath(run.spec.cwd or "/")
    return frozenset(str((home / path).parent) for path in paths)


def _address(text: str) -> tuple[int, int, int] | None:
    """(domain, bus, device) of a PCI address; ``None`` for any other text."""
    words = text.partition(".")[0].split(":")
    try:
        numbers = [int(word, 16) for word in words]
    except ValueError:
        return None
    return (numbers[0], numbers[1], numbers[2]) if len(numbers) == 3 else None
