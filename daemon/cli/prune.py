"""``prune``: propose which checkpoints may be deleted; delete them when a person agrees."""

from __future__ import annotations

import argparse
import gc
import math
import sys
from typing import Any

from ..checkpoints.retention import removal
from ..checkpoints.retention.policy import Choice, Policy
from ..checkpoints.verify import levels
from ..system.clock import SystemClock
from ..system.errors import Refused, UsageError
from . import console
from .prune_plan import PrunePlan, apply, propose
from .selection import select


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
    # Of ten thousand saves a million small objects are made and kept, none in a circle: to look for
    # circles among them again and again takes an eighth of the time (scripts/bench-saves).
    gc.disable()
    plan = propose(select(args), policy, again=args.apply)
    if args.apply and plan.doomed:
        _confirm(plan, args, policy)
        apply(plan, SystemClock())
    if args.json:
        console.as_json(_as_json(plan, policy, applied=args.apply))
    else:
        if not (args.apply and plan.doomed and sys.stdin.isatty() and not args.yes):
            _show(plan)
        _conclude(plan, applied=args.apply)
    if plan.refused:
        return Refused.exit_code
    return int(bool(plan.failed))


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
