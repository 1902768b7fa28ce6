"""Which checkpoints may be deleted: decided by the entries of the index, without the disk.

Some are kept whatever the policy says: the newest one, the newest verified one of every series,
the one to resume from, the best, milestones, one that is being saved or was not checked yet, and
everything that is not verified as long as no verified one is newer. Nothing ever has to be
deleted, so a doubtful one is kept.

A series consists of the saves in one folder whose names differ only in numbers. So ``G_100.pth``
and ``D_100.pth``, two halves of one save, are of two series; so are ``a/step-9.pt`` and
``b/step-9.pt``, which belong to two trainings.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...system.clock import epoch

Entry = dict[str, Any]
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
DAMAGED = ("corrupt", "incomplete")
_STEADY_METRICS = ("train_loss",)
"""Metrics to rank by where no checkpoint has the metric of the index."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What a person wants to keep, in addition to what is always kept."""

    latest: int = 3
    """How many of the newest verified ones of every series. Our choice: one to resume from, one
    before it in case of bit rot, and one from before a trouble that is noticed late."""
    best: int = 1
    """How many of the best verified ones, by the metric of the index."""
    every: float = 0.0
    """Steps: keep the first verified one at or past every multiple of this; 0: none."""
    damaged: bool = False
    """Propose to delete damaged ones as well; else they are kept as evidence."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Whether one checkpoint is kept or deleted, and why."""

    path: str
    keep: bool
    why: tuple[str, ...]
    """Reasons for a person to read; most checkpoints that are kept have several."""


def choose(
    index: Mapping[str, Any], policy: Policy, held: Mapping[str, str] | None = None
) -> list[Choice]:
    """One choice per entry, in the order of the index (oldest first).

    ``held``: by path, a reason to keep it that was found on the disk and not in the index.
    """
    entries: Sequence[Entry] = index["checkpoints"]
    reasons: dict[str, list[str]] = {entry["path"]: [] for entry in entries}
    for path, reason in (*_fixed(index), *_wanted(index, policy), *(held or {}).items()):
        if path in reasons and reason not in reasons[path]:
            reasons[path].append(reason)
    _keep_together(entries, reasons)
    last_sound = _last_sound_after(entries)
    choices = []
    for place, entry in enumerate(entries):
        path, state = entry["path"], entry["verified"]["state"]
        why = reasons[path]
        if not why and state != "ok" and _saved(entry) > last_sound[place]:
            why = [f"{state}, and no verified one is newer"]
        if not why and state in DAMAGED and not policy.damaged:
            why = [f"{state}: only --damaged proposes it"]
        if why:
            choices.append(Choice(path, keep=True, why=tuple(why)))
        else:
            choices.append(Choice(path, keep=False, why=(_why_not(state),)))
    return choices


def newest_verified(index: Mapping[str, Any]) -> Entry | None:
    """The newest verified entry; ``None`` when nothing is verified."""
    return next((e for e in reversed(index["checkpoints"]) if _sound(e)), None)


@functools.lru_cache(maxsize=32_768)
def series_of(path: str) -> str:
    """The series of a checkpoint: its folder, and its name with ``#`` for every number."""
    folder, _, name = path.rpartition("/")
    return f"{folder}/{_NUMBER.sub('#', name)}"


def rocks(index: Mapping[str, Any]) -> dict[str, Entry]:
    """Series -> its newest verified one: without it no other of the series may be deleted."""
    return {series_of(e["path"]): e for e in index["checkpoints"] if _sound(e)}


def ranked(index: Mapping[str, Any]) -> list[Entry]:
    """The verified ones that can be ranked by a metric, best first."""
    return _ranked(index, [e for e in index["checkpoints"] if _sound(e)])


def _fixed(index: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(path, reason) of those that are kept whatever the policy says."""
    entries: Sequence[Entry] = index["checkpoints"]
    for name, why in (
        ("latest", "the newest"),
        ("resume_from", "to resume from"),
        ("best", "best"),
    ):
        if index.get(name):
            yield index[name], why
    if entries:
        yield entries[-1]["path"], "the newest"
    newest = newest_verified(index)
    if newest is not None:
        yield newest["path"], "the newest verified one"
        # After a restart from an earlier step, the last save has a lower step than an older one.
        last = max((e for e in entries if _sound(e)), key=_saved)
        yield last["path"], "the verified one that was saved last"
    for rock in rocks(index).values():
        if rock is not newest:
            yield rock["path"], "the newest verified one of its kind"
    for entry in entries:
        for tag in entry["tags"]:
            yield entry["path"], {"latest": "the newest"}.get(tag, tag)
        if entry["verified"]["state"] not in ("ok", "unverifiable", *DAMAGED):
            yield entry["path"], "not verified yet"
        if entry["step"] is None and entry["epoch"] is None:
            # The model that the training began with may lie in the same folder.
            yield entry["path"], "its step is unknown: it may not be of this training"


def _wanted(index: Mapping[str, Any], policy: Policy) -> Iterator[tuple[str, str]]:
    """(path, reason) of those that the policy keeps."""
    sound = [e for e in index["checkpoints"] if _sound(e)]
    alike: dict[str, list[Entry]] = {}
    for entry in sound:
        alike.setdefault(series_of(entry["path"]), []).append(entry)
    for saves in alike.values():
        for entry in saves[max(0, len(saves) - policy.latest) :]:
            yield entry["path"], f"one of the newest {policy.latest}"
    for entry in _ranked(index, sound)[: policy.best]:
        yield entry["path"], "best" if policy.best == 1 else f"one of the best {policy.best}"
    taken: set[tuple[str, float]] = set()
    for entry in sound if policy.every > 0 else ():
        step = entry["step"]
        if not isinstance(step, int | float) or (step < policy.every and step != 0):
            continue
        multiple = math.floor(step / policy.every)
        if (place := (series_of(entry["path"]), multiple)) not in taken:
            taken.add(place)
            yield entry["path"], f"the first at or past step {multiple * policy.every:g}"


def _keep_together(entries: Sequence[Entry], reasons: Mapping[str, list[str]]) -> None:
    """Keep those of the same step as one that is kept: each may be the other half of a save."""
    steps = {e["step"]: e["path"] for e in entries if reasons[e["path"]] and _whole(e)}
    for entry in entries:
        other = steps.get(entry["step"])
        if entry["step"] is not None and other and _whole(entry) and not reasons[entry["path"]]:
            reasons[entry["path"]].append(f"of the same step as {other.rpartition('/')[2]}")


def _ranked(index: Mapping[str, Any], sound: Sequence[Entry]) -> list[Entry]:
    """Verified ones that have the metric, best first; of equal ones the newer first."""
    names = (index.get("best_metric") or "eval_loss", *_STEADY_METRICS)
    for name in names:
        rated = [
            (value, -place, entry)
            for place, entry in enumerate(sound)
            if isinstance(value := entry["metrics"].get(name), int | float) and math.isfinite(value)
        ]
        if rated:
            higher = index.get("best_mode") == "max" and name == names[0]
            rated.sort(key=lambda r: (-r[0] if higher else r[0], r[1]))
            return [entry for _, _, entry in rated]
    return []


def _last_sound_after(entries: Sequence[Entry]) -> list[float]:
    """For each entry, when the last verified one of those behind it was saved; ``-inf``: there is none.
    An entry is outlived by one that is newer both by its step and by its time."""
    found = [-math.inf] * len(entries)
    for place in range(len(entries) - 1, 0, -1):
        saved = _saved(entries[place]) if _sound(entries[place]) else -math.inf
        found[place - 1] = max(found[place], saved)
    return found


def _whole(entry: Entry) -> bool:
    return entry["verified"]["state"] not in DAMAGED


def _sound(entry: Entry) -> bool:
    return bool(entry["verified"]["state"] == "ok")


def _saved(entry: Entry) -> float:
    return epoch(entry["saved_at"])


def _why_not(state: str) -> str:
    return "no rule keeps it" if state == "ok" else f"{state}, and a verified one is newer"
