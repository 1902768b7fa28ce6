"""What ``prune`` proposes, and how it is carried out.

A checkpoint is deleted only while another one, which the run can be resumed from, is verified and
unchanged. The code calls that one its rock.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..checkpoints.retention import removal
from ..checkpoints.retention.holders import holders
from ..checkpoints.retention.pointers import pointers
from ..checkpoints.retention.policy import Choice, Policy, choose, ranked, rocks, series_of
from ..checkpoints.retention.removal import Footprint, Unsafe
from ..checkpoints.verify import bitrot, levels, structure
from ..system.clock import Clock, epoch
from .folder_lock import hold_folder_lock
from .selection import Selection, mark_now, unchanged

_CHANGED = "this checkpoint, which has to stay, has changed; run prune again"
_LOOK_EVERY_S = 1.0
"""Seconds for which it holds that no process uses a checkpoint. Our choice: who opens a file within them keeps
it, as Linux deletes an open file only when it is closed."""


@dataclass(slots=True)
class PrunePlan:
    """What is proposed, and after :func:`apply` the result."""

    known: Selection
    choices: list[Choice]
    prints: dict[str, Footprint]
    """By path, of every checkpoint whose files can be examined."""
    unfinished: list[str]
    """Folders that an earlier deletion renamed and did not finish deleting."""
    deleted: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    freed: dict[str, int | None] = field(default_factory=dict)

    @property
    def doomed(self) -> list[str]:
        """Paths to delete, oldest first."""
        return [c.path for c in self.choices if not c.keep] + self.unfinished


def propose(found: Selection, policy: Policy, *, again: bool = False) -> PrunePlan:
    """Examine every checkpoint and which processes use it, and choose what to delete.

    ``again``: read the rocks of those to delete in full, even if they were read before.
    """
    paths = [entry["path"] for entry in found.index["checkpoints"]]
    prints: dict[str, Footprint] = {}
    held: dict[str, str] = {}
    around = removal.Around(found.folders)
    for path in paths:
        try:
            prints[path] = removal.footprint(path, around)
        except Unsafe as error:
            held[path] = str(error)
        except OSError as error:
            held[path] = f"cannot be examined: {error.strerror}"
    held |= {path: why for path, why in pointers(paths).items() if path not in held}
    held |= {path: why for path, why in _used(prints).items() if path not in held}
    for path, run in found.bests.items():
        held.setdefault(path, f"best of {run}")
    homes = {os.path.realpath(f) for f in found.folders} | {p.home for p in prints.values()}
    homes -= {os.path.realpath(f) for f in found.shared}  # what is left over there may be others'
    unfinished = [path for path in removal.leftovers(homes) if path not in prints]
    for path in list(unfinished):
        try:
            prints[path] = removal.footprint(path, around)
        except (Unsafe, OSError):
            unfinished.remove(path)
    reading = _Reading(found.index, policy, again=again)
    while True:
        choices = _unshared(choose(found.index, policy, held), prints)
        doomed = [c.path for c in choices if not c.keep] + unfinished
        if reading.holds(doomed):
            break
    return PrunePlan(found, choices, prints, unfinished)


def apply(plan: PrunePlan, clock: Clock) -> None:
    """Delete what the plan proposes, and write the result into the plan.

    Each checkpoint is examined again just before it is deleted. Raises Refused when another prune
    works in one of the folders.
    """
    stand = rocks(plan.known.index)
    doomed = plan.doomed
    devices = {plan.prints[path].home for path in doomed}
    with contextlib.ExitStack() as locks:
        for folder in sorted({p.home for p in plan.prints.values()}):
            locks.enter_context(hold_folder_lock(folder, f"another prune is running in {folder}"))
        before = _free(devices)
        gone: list[Footprint] = []
        look = _LastLook(plan, doomed, clock)
        for path in doomed:
            one = plan.prints[path]
            why = look.objection(path, _rocks_under(path, stand))
            try:
                if why:
                    raise Unsafe(why)
                removal.remove(one, look.around)
            except Unsafe as error:
                plan.refused[path] = str(error)
            except FileNotFoundError:
                plan.refused[path] = "another program has deleted it"
            except OSError as error:
                plan.failed[path] = error.strerror or str(error)
            else:
                plan.deleted.append(path)
                gone.append(one)
            look.pass_over(path)
        size, inodes = removal.reckon(gone)
        after = _free(devices)
    plan.freed = {
        "bytes": size,
        "inodes": inodes,
        "measured_bytes": after[0] - before[0],
        "measured_inodes": after[1] - before[1],
    }


class _LastLook:
    """What speaks against a deletion at the last moment.

    Everything about the checkpoint itself and its rocks is examined for each deletion. What has to be looked up
    for all together (the processes, the pointers, the mounts, the structure of the rocks) is at most a second
    old, or ten times what it takes: of 10,000 saves each alone would cost minutes.
    """

    def __init__(self, plan: PrunePlan, doomed: Sequence[str], clock: Clock) -> None:
        self._folders = plan.known.folders
        self._clock = clock
        self._left = dict.fromkeys(doomed)
        kept = (c.path for c in plan.choices if c.keep)
        self._there = {**dict.fromkeys(kept), **self._left}
        self._prints = plan.prints
        self._due = -math.inf
        self._found: dict[str, str] = {}
        self._sound: dict[str, str] = {}
        """Path of a rock -> why it is none any more; empty if its structure is good."""
        self.around = removal.Around(self._folders)

    def objection(self, path: str, stand: Sequence[Mapping[str, Any]]) -> str:
        """Why a checkpoint must not be deleted; empty when it may. ``stand``: its rocks."""
        if self._clock.monotonic() >= self._due:
            self._look()
        return self._shaken(stand) or self._found.get(path, "")

    def pass_over(self, path: str) -> None:
        """This one is deleted, or was refused."""
        self._left.pop(path, None)
        if not os.path.lexists(path):
            self._there.pop(path, None)

    def _look(self) -> None:
        begun = self._clock.monotonic()
        self.around = removal.Around(self._folders)
        self._sound.clear()
        self._found = pointers(self._there) | _used(
            {path: self._prints[path] for path in self._left}
        )
        ended = self._clock.monotonic()
        self._due = ended + max(_LOOK_EVERY_S, 10 * (ended - begun))

    def _shaken(self, stand: Sequence[Mapping[str, Any]]) -> str:
        """Why the rocks do not hold: one has changed or is damaged, or there is none."""
        for rock in stand:
            path = rock["path"]
            if not unchanged(rock, mark_now(path)):
                return f"{path}: {_CHANGED}"
            if path not in self._sound:
                told = levels.describe(path, structure.LEVEL)
                bad = told["state"] != "ok"
                self._sound[path] = f"{path}: {told['detail'] or told['state']}" if bad else ""
            if self._sound[path]:
                return self._sound[path]
        return "" if stand else "no checkpoint is verified"


def _rocks_under(path: str, stand: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """The rocks of ``path``: the verified checkpoints that must stay while it is deleted.

    That is the newest verified one of its series (``stand``: by series). If its series has none,
    as for what a crash left, it is those in the same folder, and if there are none either, the
    newest of all.
    """
    own = stand.get(series_of(path))
    if own is not None:
        return [own]
    beside = [r for r in stand.values() if os.path.dirname(r["path"]) == os.path.dirname(path)]
    return beside or list(stand.values())[-1:]


class _Reading:
    """Reads the rocks of what is to be deleted, and the best checkpoints, in full.

    One that was read in full before is not read again, unless ``again`` is set. Where one does not pass, the next
    of its series is read in its place, so that a thousand with NaN in them are each read once.
    """

    def __init__(self, index: dict[str, Any], policy: Policy, *, again: bool) -> None:
        self._index, self._policy, self._again = index, policy, again
        self._read: set[str] = set()

    def holds(self, doomed: Collection[str]) -> bool:
        """Whether all of them passed. Else the index is changed, and the choice has to be made again."""
        stand = rocks(self._index)
        under = {series_of(r["path"]): r for path in doomed for r in _rocks_under(path, stand)}
        failed = [series for series, rock in under.items() if not self._passes(rock)]
        if failed:
            older: dict[str, list[dict[str, Any]]] = {series: [] for series in failed}
            for entry in self._index["checkpoints"]:
                if (series := series_of(entry["path"])) in older and entry["verified"][
                    "state"
                ] == "ok":
                    older[series].append(entry)
            for entries in older.values():
                while entries and not self._passes(entries.pop()):
                    pass
        held = self._bests_hold(doomed) and not failed
        first = ranked(self._index)
        if not held and self._index.get("best") is None and first:
            self._index["best"] = first[0]["path"]
        return held

    def _bests_hold(self, doomed: Collection[str]) -> bool:
        passed, good = True, 0
        for entry in ranked(self._index) if doomed else ():
            if good >= max(1, self._policy.best):
                break
            if self._passes(entry):
                good += 1
            else:
                passed = False
        return passed

    def _passes(self, rock: dict[str, Any]) -> bool:
        """Read it, if need be; one that does not pass is not ``ok`` in the index from now on."""
        path = rock["path"]
        known = rock["verified"]["level"] != structure.LEVEL or rock.get("digest")
        if path in self._read or (known and not self._again):
            return bool(rock["verified"]["state"] == "ok")
        self._read.add(path)
        told = levels.describe(path)
        why = bitrot.why_corrupt(rock, told["digest"], told["bytes"], epoch(rock["saved_at"]))
        found = {"state": told["state"], "level": told["level"], "detail": told["detail"]}
        if why and told["state"] == "ok":
            found = {"state": "corrupt", "level": "checksum", "detail": why}
        rock["verified"] = {**rock["verified"], **found}
        if found["state"] != "ok":
            for name in ("resume_from", "best"):
                if self._index.get(name) == path:
                    self._index[name] = None
            rock["tags"] = [tag for tag in rock["tags"] if tag != "best"]
        return bool(found["state"] == "ok")


def _used(prints: Mapping[str, Footprint]) -> dict[str, str]:
    files = {(p.device, p.inode): path for path, one in prints.items() for p in one.pieces}
    real = {f"{one.home}/{one.name}": path for path, one in prints.items()}
    found = holders(files, {*prints, *real})
    return {real.get(path, path): why for path, why in found.items()}


def _unshared(choices: Sequence[Choice], prints: Mapping[str, Footprint]) -> list[Choice]:
    """``choices``, but keeping each checkpoint that shares a file (one shard, two indexes) with
    one that is kept."""
    needed = {
        f"{one.home}/{piece.name}": choice.path
        for choice in choices
        if choice.keep and (one := prints.get(choice.path)) is not None
        for piece in one.files
    }
    found = []
    for choice in choices:
        one = prints.get(choice.path)
        shared = (
            next(
                (needed[name] for p in one.files if (name := f"{one.home}/{p.name}") in needed),
                None,
            )
            if one is not None and not choice.keep
            else None
        )
        why = f"it shares files with {shared}"
        found.append(choice if shared is None else replace(choice, keep=True, why=(why,)))
    return found


def _free(folders: set[str]) -> tuple[int, int]:
    """(free bytes, free inodes) of the file systems of these folders, each counted once."""
    seen: dict[int, tuple[int, int]] = {}
    for folder in folders:
        found = os.statvfs(folder)
        seen[os.stat(folder).st_dev] = found.f_bfree * found.f_frsize, found.f_ffree
    return sum(size for size, _ in seen.values()), sum(inodes for _, inodes in seen.values())
