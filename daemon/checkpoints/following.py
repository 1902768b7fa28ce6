"""One checkpoint that is followed: how its files stand, and what is known about it."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping
from typing import NamedTuple, cast

from middlewatch.sentinels.kit import CheckpointSeen
from middlewatch.sentinels.kit.observations import VerifiedState

from . import formats, names
from .finder import Place

STATES: tuple[VerifiedState, ...] = ("ok", "corrupt", "incomplete", "unverifiable")
FULL_LOOK_EVERY = 16
"""Looks at a settled folder between two at all its files. A folder whose names do not change
can only be damaged in place, which is rare: 32 s later is soon enough."""


class Mark(NamedTuple):
    """How the files of a checkpoint stand. Equal marks: nothing was written in between."""

    bytes: int = 0
    files: int = 0
    newest_ns: int = 0
    mixed: int = 0
    """Of sizes, times and inode numbers: tells a file replaced by one of equal size, or changed
    by somebody who set its time back."""
    weights: bool = False


@dataclasses.dataclass(slots=True)
class Followed:
    """A checkpoint between its first byte and its verdict, and afterwards."""

    place: Place
    mark: Mark
    changed_at: float
    """When we last saw it change, or the time of its newest file when it is older than us."""
    grew_at: float | None = None
    seen: CheckpointSeen | None = None
    asked: Mark | None = None
    """What the verifier was asked about; an answer for another state of the files is void."""
    ask_at: float = 0.0
    settled: bool = False
    """The verdict is final as long as the files stay as they are."""
    failures: int = 0
    skipped: int = 0
    fresh: bool = False
    """Written, or changed, since we look."""
    left: bool = False
    """A temporary that was told to belong to nobody."""
    summed: bool = False
    """Its checksums were compared, or there are none."""
    sum_from: list[int] | None = None
    """Where to go on comparing."""

    @property
    def path(self) -> str:
        """Where it is."""
        return self.place.path

    def look(self, place: Place, now: float) -> bool:
        """Look at the files again; whether they have changed."""
        moved = place.mtime_ns != self.place.mtime_ns
        self.place = place
        if self.settled and not moved and place.kind is not None:
            self.skipped += 1
            if self.skipped < FULL_LOOK_EVERY:
                return False
            self.skipped = 0
        mark = mark_of(place)
        if mark == self.mark:
            return False
        if mark.bytes > self.mark.bytes or mark.newest_ns > self.mark.newest_ns:
            self.grew_at = now
        self.mark = mark
        self.changed_at = self.ask_at = now
        self.settled = False
        self.failures = 0
        self.fresh, self.summed, self.sum_from = True, False, None
        return True

    def left_over(self, now: float) -> CheckpointSeen:
        """As a temporary that nobody writes any more; changes nothing here."""
        detail = "a temporary that was never renamed"
        return dataclasses.replace(self._bare(now, detail), state="incomplete")

    def pending(self, now: float, detail: str) -> CheckpointSeen:
        """Known to be there, and nothing more."""
        self.seen = self._bare(now, detail)
        return self.seen

    def _bare(self, now: float, detail: str) -> CheckpointSeen:
        name = self.path.rpartition("/")[2]
        progress = formats.progress_in_name(self.path)
        kind = self.place.kind
        format_ = formats.format_by_name(name) if kind is None else "unknown"
        return CheckpointSeen(
            at=now,
            path=self.path,
            saved_at=self.mark.newest_ns / 1e9,
            bytes=self.mark.bytes,
            files=self.mark.files,
            format=kind if kind in ("dcp", "deepspeed", "hf") else format_,
            step=progress.step,
            epoch=progress.epoch,
            detail=detail,
            metrics=progress.metrics,
        )

    def judged(self, answer: Mapping[str, object], now: float) -> CheckpointSeen:
        """What the verifier has said. A field that makes no sense is taken as unknown."""
        state = answer.get("state")
        kind = answer.get("format")
        metrics = answer.get("metrics")
        self.seen = CheckpointSeen(
            at=now,
            path=self.path,
            saved_at=self.mark.newest_ns / 1e9,
            bytes=self.mark.bytes,
            files=self.mark.files,
            format=str(kind) if kind in formats.FORMATS else "unknown",
            step=number(answer.get("step")),
            epoch=number(answer.get("epoch")),
            state=state if state in STATES else "unverifiable",
            level=str(answer.get("level") or "structure"),
            detail=str(answer.get("detail") or "")[:400],
            metrics=_numbers(metrics if isinstance(metrics, Mapping) else {}),
        )
        self.settled = True
        return self.seen

    def compared(self, answer: Mapping[str, object], now: float) -> CheckpointSeen | None:
        """What a comparison of checksums came to; ``None`` while that is nothing new."""
        going_on = answer.get("from")
        if isinstance(going_on, list):
            self.sum_from = going_on
            return None
        self.summed, self.sum_from = True, None
        state, level = answer.get("state"), answer.get("level")
        if self.seen is None or (state == "ok" and level != "checksum"):
            return None
        detail = "; ".join(str(text) for text in (self.seen.detail, answer.get("detail")) if text)
        self.seen = dataclasses.replace(
            self.seen,
            at=now,
            state=state if state in STATES else "unverifiable",
            level=str(level or "structure"),
            detail=detail[:400],
        )
        return self.seen


def mark_of(place: Place) -> Mark:
    """How the files stand now; all zero when they are gone."""
    total = files = newest = mixed = 0
    weights = place.kind != "folder"
    for name, found in _members(place):
        total += found.st_size
        files += 1
        newest = max(newest, found.st_mtime_ns)
        mixed ^= hash((name, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino))
        weights = weights or names.is_weights(name)
    return Mark(total, files, newest, mixed, weights)


def _members(place: Place) -> Iterator[tuple[str, os.stat_result]]:
    """Names and stats of the files that make up a checkpoint."""
    if place.kind is not None:
        for part in formats.parts(place.path):
            yield part.base, part.stat
        return
    try:
        yield place.path, os.stat(place.path)
    except OSError:
        return
    stem = names.index_stem(place.path)
    if stem is not None:
        folder, _, base = stem.rpartition("/")
        for part in formats.parts(folder or "/", deepest=0):
            if part.base.startswith(base) and names.shard(part.base) is not None:
                yield part.base, part.stat


def number(value: object) -> float | None:
    """A number of an answer; numbers that are not finite come as strings."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float) or value in ("nan", "inf", "-inf"):
        return float(cast(float, value))
    return None


def _numbers(values: Mapping[object, object]) -> dict[str, float]:
    found = {str(name): number(value) for name, value in values.items()}
    return {name: value for name, value in found.items() if value is not None}
