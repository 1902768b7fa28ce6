"""``checkpoints_index.json``: all checkpoints of a run; the newest, the best, the one to resume.

Step and metrics come from the first of these that has them: the checkpoint itself, a state file
beside it, its name, the log of the run. ``step_origin`` and ``metrics_origin`` say which it was.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from middlewatch.sentinels.kit import CheckpointSaved, CheckpointSeen, Step, codec

from ..config.secrets import mask
from ..system.clock import iso
from .from_log import Joined, attach_metrics, reach
from .ranking import RankingRules, best_of, in_order, is_milestone, size_trend
from .together import HALVES, resumable, together
from .verify import bitrot

SCHEMA = "middlewatch/checkpoints/v1"


class Settled:
    """What the newest index of a run said of each save: of thousands, most are as they were.

    A save is not looked at again while it is the same observation, its entry is still in the index, and
    the log that is remembered begins after it.
    """

    def __init__(self) -> None:
        self._rules: RankingRules | None = None
        self._known: dict[str, tuple[CheckpointSeen, Joined, dict[str, Any]]] = {}
        """Path -> the observation, what it was joined to, and the entry that was made of it."""

    def of(
        self,
        checkpoints: Sequence[CheckpointSeen],
        known: Mapping[str, Mapping[str, Any]],
        steps: Sequence[Step],
        rules: RankingRules,
    ) -> dict[str, Joined]:
        """By path, those of the checkpoints of which nothing has changed."""
        if rules != self._rules:
            self._known.clear()
        self._rules = rules
        earliest, lowest = reach(steps)
        found = {}
        for given in checkpoints:
            before = self._known.get(given.path)
            if before is None or before[0] is not given or known.get(given.path) is not before[2]:
                continue
            step = before[1].seen.step
            if step is not None and step < lowest and given.saved_at < earliest:
                found[given.path] = before[1]
        return found

    def note(
        self,
        checkpoints: Sequence[CheckpointSeen],
        joined: Mapping[str, Joined],
        entries: Sequence[dict[str, Any]],
    ) -> None:
        """These are the entries of the newest index."""
        given = {seen.path: seen for seen in checkpoints}
        paths = ((entry["path"], entry) for entry in entries)
        self._known = {path: (given[path], joined[path], entry) for path, entry in paths}


def build(
    run: str,
    checkpoints: Sequence[CheckpointSeen],
    now: float,
    *,
    rules: RankingRules | None = None,
    started_at: float | None = None,
    steps: Sequence[Step] = (),
    claims: Sequence[CheckpointSaved] = (),
    before: Mapping[str, Any] | None = None,
    settled: Settled | None = None,
) -> dict[str, Any]:
    """The index as one JSON-ready dict; oldest checkpoint first.

    ``rules``: what makes a checkpoint the best one, or a milestone. ``started_at``: when the run
    began (epoch seconds); what was saved before is of an older run and never the newest, however
    high its step. ``before``: the previous index. From it come what the log said about a save, as
    those lines may be gone, and the digest of the first reading: a different one now is bit rot.
    ``settled``: of the index before, so that what is as it was costs nothing.
    """
    rules, given = rules or RankingRules(), checkpoints
    every = {e["path"]: e for e in (before or {}).get("checkpoints", ())}
    done = settled.of(given, every, steps, rules) if settled is not None else {}
    saved_at = {c.path: iso(c.saved_at) for c in given if c.path not in done}
    # An entry is about the same save if its files have not been written since.
    known = {p: e for p, e in every.items() if p in saved_at and e["saved_at"] == saved_at[p]}
    checkpoints = [c if c.path in done else _remembered(c, known.get(c.path, {})) for c in given]
    joined = {j.seen.path: j for j in attach_metrics(checkpoints, steps, claims, known, done)}
    ordered = in_order([j.seen for j in joined.values()], started_at)
    known_together = together(ordered)
    sound = [c for c in ordered if c.state == "ok" and known_together.roles[c.path] not in HALVES]
    resume = resumable(ordered, known_together)
    mains = [c for c in ordered if c.path not in known_together.main_of]
    latest = mains[-1].path if mains else (ordered[-1].path if ordered else None)
    best = best_of(sound, rules)
    entries = []
    for seen in ordered:
        was = every[seen.path]["tags"] if seen.path in done else None
        tags = {
            "latest": seen.path == latest,
            "best": seen.path == best.path,
            "milestone": is_milestone(seen, rules) if was is None else "milestone" in was,
        }
        told = [tag for tag, holds in tags.items() if holds]
        if was is None:
            entry = _entry(joined[seen.path], told, saved_at[seen.path])
            entry["digest"] = seen.digest
        else:  # never changed in place: the index before has it as well
            entry = every[seen.path] if was == told else {**every[seen.path], "tags": told}
        main = known_together.main_of.get(seen.path)
        if entry.get("part_of") != main:
            entry = {**entry, "part_of": main}
        entries.append(entry)
    if settled is not None:
        settled.note(given, joined, entries)
    return {
        "schema": SCHEMA,
        "run": run,
        "updated_at": iso(now),
        "checkpoints": entries,
        "latest": latest,
        "best": best.path,
        "best_metric": best.metric,
        "best_mode": best.mode,
        "resume_from": None if resume is None else resume.path,
        "size_trend": size_trend(ordered),
    }


def read(path: str) -> dict[str, Any] | None:
    """Read an index file; ``None`` where there is none that can be used."""
    try:
        with open(path, encoding="utf-8") as file:
            index = json.load(file)
        check(index)
    except (OSError, ValueError, RecursionError):
        return None
    return dict(index)


def check(index: Any) -> None:
    """Raises ValueError unless this is an index whose fields are what we write there."""
    if codec.load(_Index, index).schema != SCHEMA:
        raise ValueError(f"the schema of the index is not {SCHEMA}")


@dataclass(frozen=True)
class _Verdict:
    state: str
    level: str | None
    at: str | None = None
    detail: str = ""


@dataclass(frozen=True)
class _Entry:
    path: str
    saved_at: str
    bytes: int
    files: int
    verified: _Verdict
    metrics: dict[str, float]
    step: float | None = None
    step_origin: str | None = None
    epoch: float | None = None
    format: str | None = None
    metrics_origin: str | None = None
    tags: list[str] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    part_of: str | None = None
    durability: dict[str, Any] | None = None
    digest: str | None = None
    mirrored: dict[str, Any] | None = None


@dataclass(frozen=True)
class _Index:
    schema: str
    run: str
    updated_at: str
    checkpoints: list[_Entry]
    latest: str | None = None
    best: str | None = None
    best_metric: str | None = None
    best_mode: str | None = None
    resume_from: str | None = None


def _remembered(seen: CheckpointSeen, entry: Mapping[str, Any]) -> CheckpointSeen:
    """With the digest of the first reading, and corrupt where the digest is different now.

    The first digest is kept, so that the next reading is compared with it too.
    """
    first = entry.get("digest")
    if not isinstance(first, str) or entry["bytes"] != seen.bytes:
        return seen
    why = bitrot.why_corrupt(entry, seen.digest, seen.bytes, seen.saved_at)
    if not why:
        return seen if seen.digest else replace(seen, digest=first)
    if seen.state == "corrupt":
        return replace(seen, digest=first)  # the detail of its own checksums says where
    return replace(seen, state="corrupt", level="checksum", detail=why, digest=first)


def _entry(joined: Joined, tags: list[str], saved_at: str | None) -> dict[str, Any]:
    seen = joined.seen
    return {
        "path": seen.path,
        "step": _plain(seen.step),
        "step_origin": joined.step_origin,
        "epoch": _plain(seen.epoch),
        "saved_at": saved_at,
        "bytes": seen.bytes,
        "files": seen.files,
        "format": seen.format,
        "metrics": {name: _plain(value) for name, value in sorted(seen.metrics.items())},
        "metrics_origin": joined.metrics_origin,
        "tags": tags,
        "verified": {
            "state": seen.state,
            "level": seen.level,
            "at": iso(seen.at) if seen.level is not None else None,
            "detail": mask(seen.detail),
        },
        "parts": list(seen.parts),
        "part_of": None,
        "durability": _durability(seen),
    }


def _durability(seen: CheckpointSeen) -> dict[str, Any] | None:
    """Whether it survives a stop of the box or its destruction; ``None``: unknown."""
    known = seen.durability
    if known is None:
        return None
    return {
        "survives_stop": known.survives_stop,
        "survives_destroy": known.survives_destroy,
        "where": known.where,
    }


def _plain(number: float | None) -> float | int | str | None:
    """Whole numbers as ``int``; JSON has no NaN and no infinity, so these are strings."""
    if number is None:
        return None
    if math.isnan(number):
        return "nan"
    if math.isinf(number):
        return "inf" if number > 0 else "-inf"
    return int(number) if number == int(number) and abs(number) < 2**53 else number
