"""``prune``: propose which checkpoints may be deleted; delete them when a person agrees.

A checkpoint is deleted only while another one, which the run can be resumed from, is verified and
unchanged. The code calls that one its rock.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..checkpoints.retention import removal
from ..checkpoints.retention.holders import holders
from ..checkpoints.retention.pointers import pointers
from ..checkpoints.retention.policy import Choice, Policy, bests, choose, rocks, series_of
from ..checkpoints.retention.removal import Footprint, Unsafe
from ..checkpoints.verify import bitrot, levels, structure
from ..system.clock import epoch
from ..system.errors import Refused, UsageError
from . import console
from .folder_lock import hold_folder_lock
from .selection import Selection, mark_now, select, unchanged

_CHANGED = "this checkpoint, which has to stay, has changed; run prune again"


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


def prune(args: argparse.Namespace) -> int:
    """Propose deletions; with ``--apply`` delete.

    Exit 1 when a deletion failed, 4 when a proposed one turned out to be unsafe.
    """
    policy = Policy(args.keep_latest, args.keep_best, args.every, args.damaged)
    for name in ("keep_latest", "keep_best", "every"):
        if getattr(args, name) < 0:
            raise UsageError(
                f"--{name.replace('_', '-')} must not be negative", "it takes a number of 0 or more"
            )
    if args.yes and not args.apply:
        raise UsageError("--yes is for --apply: without it nothing is deleted", "add --apply")
    if not math.isfinite(args.every):
        raise UsageError("--every must be a finite number of steps", "like --every 5000")
    plan = propose(select(args), policy, again=args.apply)
    if args.apply and plan.doomed:
        _confirm(plan, args, policy)
        apply(plan)
    if args.json:
        console.as_json(_as_json(plan, policy, applied=args.apply))
    else:
        if not (args.apply and plan.doomed and sys.stdin.isatty() and not args.yes):
            _show(plan)
        _conclude(plan, applied=args.apply)
    if plan.refused:
        return Refused.exit_code
    return int(bool(plan.failed))


def propose(found: Selection, policy: Policy, *, again: bool = False) -> PrunePlan:
    """Examine every checkpoint and which processes use it, and choose what to delete.

    ``again``: read the rocks of those to delete in full, even if they were read before.
    """
    paths = [entry["path"] for entry in found.index["checkpoints"]]
    prints: dict[str, Footprint] = {}
    held: dict[str, str] = {}
    for path in paths:
        try:
            prints[path] = removal.footprint(path, found.folders)
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
            prints[path] = removal.footprint(path, found.folders)
        except (Unsafe, OSError):
            unfinished.remove(path)
    read: set[str] = set()
    while True:
        choices = _unshared(choose(found.index, policy, held), prints)
        doomed = [c.path for c in choices if not c.keep] + unfinished
        if _rest_on_rock(found.index, policy, doomed, read, again=again):
            break
    return PrunePlan(found, choices, prints, unfinished)


def apply(plan: PrunePlan) -> None:
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
        for path in doomed:
            one = plan.prints[path]
            why = _shaken(_rocks_under(path, stand))
            why = why or _used({path: one}).get(path, "") or pointers([path]).get(path, "")
            try:
                if why:
                    raise Unsafe(why)
                removal.remove(one, plan.known.folders)
            except Unsafe as error:
                plan.refused[path] = str(error)
            except FileNotFoundError:
                plan.refused[path] = "another program has deleted it"
            except OSError as error:
                plan.failed[path] = error.strerror or str(error)
            else:
                plan.deleted.append(path)
                gone.append(one)
        size, inodes = removal.reckon(gone)
        after = _free(devices)
    plan.freed = {
        "bytes": size,
        "inodes": inodes,
        "measured_bytes": after[0] - before[0],
        "measured_inodes": after[1] - before[1],
    }


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


def _rest_on_rock(
    index: dict[str, Any],
    policy: Policy,
    doomed: Collection[str],
    read: set[str],
    *,
    again: bool,
) -> bool:
    """Read the rocks of all paths in ``doomed``, and the best checkpoints, in full.

    One that was read in full before is not read again, unless ``again`` is set. ``read``: the
    paths that this command has read; added to. Returns False when one did not pass: ``index`` is
    changed then, and the choice has to be made again.
    """
    stand = rocks(index)
    under = {r["path"]: r for path in doomed for r in _rocks_under(path, stand)}
    if doomed:
        under |= {entry["path"]: entry for entry in bests(index, policy)}
    passed = True
    for path, rock in under.items():
        known = rock["verified"]["level"] != structure.LEVEL or rock.get("digest")
        if path in read or (known and not again):
            continue
        read.add(path)
        told = levels.describe(path)
        why = bitrot.why_corrupt(rock, told["digest"], told["bytes"], epoch(rock["saved_at"]))
        found = {"state": told["state"], "level": told["level"], "detail": told["detail"]}
        if why and told["state"] == "ok":
            found = {"state": "corrupt", "level": "checksum", "detail": why}
        rock["verified"] = {**rock["verified"], **found}
        if found["state"] != "ok":
            passed = False
            _take_off(index, rock)
    return passed


def _take_off(index: dict[str, Any], entry: dict[str, Any]) -> None:
    """Make a checkpoint that did not pass neither the best one nor the one to resume from."""
    if index.get("resume_from") == entry["path"]:
        index["resume_from"] = None
    if index.get("best") == entry["path"]:
        next_best = bests(index, Policy())
        index["best"] = next_best[0]["path"] if next_best else None
    entry["tags"] = [tag for tag in entry["tags"] if tag != "best"]


def _shaken(stand: Sequence[Mapping[str, Any]]) -> str:
    """Why a checkpoint must not be deleted: one of its rocks has changed or is damaged, or it has
    none. Empty when it may be deleted."""
    for rock in stand:
        path = rock["path"]
        if not unchanged(rock, mark_now(path)):
            return f"{path}: {_CHANGED}"
        told = levels.describe(path, structure.LEVEL)
        if told["state"] != "ok":
            return f"{path}: {told['detail'] or told['state']}"
    return "" if stand else "no checkpoint is verified"


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


def _confirm(plan: PrunePlan, args: argparse.Namespace, policy: Policy) -> None:
    """Raises Refused unless a person, or ``--yes``, agrees."""
    if args.yes:
        return
    if not sys.stdin.isatty():
        raise Refused(
            f"{len(plan.doomed)} checkpoints would be deleted, and there is no terminal to ask on",
            "look at the proposal without --apply, then use --apply --yes",
        )
    if args.json:
        console.complain(f"{len(plan.doomed)} checkpoints would be deleted")
    else:
        _show(plan)
    console.complain(f"type {len(plan.doomed)} or yes to delete them: ", end="")
    if sys.stdin.readline().strip().lower() not in (str(len(plan.doomed)), "yes"):
        raise Refused("nothing was deleted")


def _cost(plan: PrunePlan, path: str) -> tuple[int | None, int | None]:
    one = plan.prints.get(path)
    return removal.reckon([one]) if one is not None else (None, None)


def _show(plan: PrunePlan) -> None:
    entries = {entry["path"]: entry for entry in plan.known.index["checkpoints"]}
    rows = []
    for choice in plan.choices:
        entry = entries[choice.path]
        size, inodes = _cost(plan, choice.path)
        state, level = entry["verified"]["state"], entry["verified"]["level"]
        rows.append(
            (
                "keep" if choice.keep else "delete",
                "-" if entry["step"] is None else f"{entry['step']}",
                f"{state} ({level})" if level else state,
                "-" if size is None else levels.human_bytes(size),
                "-" if inodes is None else inodes,
                choice.path,
                ", ".join(choice.why),
            )
        )
    for path in plan.unfinished:
        size, inodes = _cost(plan, path)
        why = "an earlier deletion was not finished"
        rows.append(("delete", "-", "-", levels.human_bytes(size or 0), inodes or 0, path, why))
    if rows:
        console.table(("DO", "STEP", "VERIFIED", "FREES", "INODES", "PATH", "WHY"), rows)


def _conclude(plan: PrunePlan, *, applied: bool) -> None:
    size, inodes = removal.reckon(plan.prints[path] for path in plan.doomed)
    if not plan.choices and not plan.unfinished:
        console.say("no checkpoint found")
    elif not plan.doomed:
        console.say("nothing to delete")
    elif not applied:
        console.say(
            f"{len(plan.doomed)} would be deleted: {levels.human_bytes(size)}, {inodes} inodes. "
            "Nothing was deleted; --apply deletes them."
        )
    else:
        freed = plan.freed
        console.say(
            f"{len(plan.deleted)} deleted: {levels.human_bytes(freed['bytes'] or 0)}, "
            f"{freed['inodes']} inodes; measured on the disk: "
            f"{_signed(freed['measured_bytes'] or 0)}, {freed['measured_inodes']:+d} inodes free"
        )
    for path, why in plan.refused.items():
        console.complain(f"not deleted: {path}: {why}")
    for path, why in plan.failed.items():
        console.complain(f"could not be deleted: {path}: {why}")


def _signed(count: int) -> str:
    return f"{'-' if count < 0 else '+'}{levels.human_bytes(abs(count))}"


def _as_json(plan: PrunePlan, policy: Policy, *, applied: bool) -> dict[str, Any]:
    entries = {entry["path"]: entry for entry in plan.known.index["checkpoints"]}
    rows = []
    for choice in (*plan.choices, *(Choice(p, keep=False, why=()) for p in plan.unfinished)):
        path = choice.path
        size, inodes = _cost(plan, path)
        rows.append(
            {
                "path": path,
                "step": entries[path]["step"] if path in entries else None,
                "action": "keep" if choice.keep else "delete",
                "why": list(choice.why) or ["an earlier deletion was not finished"],
                "bytes": size,
                "inodes": inodes,
                "verified": entries[path]["verified"] if path in entries else None,
                "deleted": path in plan.deleted,
                "refused": plan.refused.get(path) or plan.failed.get(path),
            }
        )
    size, inodes = removal.reckon(plan.prints[path] for path in plan.doomed)
    return {
        "run": plan.known.index["run"],
        "folders": list(plan.known.folders),
        "index_from": plan.known.origin,
        "policy": {
            "keep_latest": policy.latest,
            "keep_best": policy.best,
            "every": policy.every,
            "damaged": policy.damaged,
        },
        "applied": applied,
        "checkpoints": rows,
        "proposed": {"checkpoints": len(plan.doomed), "bytes": size, "inodes": inodes},
        "freed": plan.freed or None,
    }
