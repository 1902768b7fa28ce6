"""One checkpoint that is followed: the state of its files, and what is known about it."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, cast
from zlib import crc32

from middlewatch.sentinels.kit import CheckpointSeen
from middlewatch.sentinels.kit.numbers import size, span
from middlewatch.sentinels.kit.observations import VerifiedState

from ..system.clock import epoch, iso
from .finder import CheckpointPath
from .formats import names, recognise
from .verify import bitrot
from .verify.verdicts import one_detail

STATES: tuple[VerifiedState, ...] = ("ok", "corrupt", "incomplete", "unverifiable")
TELL_EVERY_S = 30.0
"""Seconds between two reports of how far a long reading is."""
MOST_PARTS = 32
"""Limit on the parts that are kept of a verdict."""
_READ = frozenset({"checksum", "finite", "load"})
"""Levels at which all of the data was read."""
FULL_LOOK_EVERY = 16
"""Only every sixteenth look at a settled folder examines all of its files. While its names do not
change it can only be damaged in place, which is rare: to notice that 32 s later is soon enough."""


class FilesFingerprint(NamedTuple):
    """State of the files of a checkpoint. While it is equal, nothing was written."""

    bytes: int = 0
    files: int = 0
    newest_ns: int = 0
    mixed: int = 0
    """Hash of names, sizes, times and inode numbers. It shows that a file was replaced by one of
    equal size, or changed and its time set back."""
    weights: bool = False
    """True for a single file, for a folder of a known format, and where a file holds weights."""


Look = Callable[[CheckpointPath], FilesFingerprint | None]
"""Gives the state of the files; ``None`` when that is not known now."""


@dataclasses.dataclass(slots=True)
class Followed:
    """One checkpoint, from its first byte to its verdict and afterwards."""

    place: CheckpointPath
    fingerprint: FilesFingerprint
    changed_at: float
    """Epoch seconds: when we last saw it change. Before that, the time of its newest file."""
    grew_at: float | None = None
    seen: CheckpointSeen | None = None
    asked: FilesFingerprint | None = None
    """State of the files when the verifier was asked; an answer about another one is dropped."""
    ask_at: float = 0.0
    settled: bool = False
    """The verdict is final as long as the files stay as they are."""
    failures: int = 0
    skipped: int = 0
    fresh: bool = False
    """It was written or changed since this watch began."""
    left: bool = False
    """It has a temporary name, and was reported as left over from a save."""
    done: bool = False
    """Its data was read to the end, or cannot be read."""
    began: float | None = None
    """Epoch seconds: when the reading of its data began; ``None`` while it is not read."""
    told_at: float = 0.0
    said: str = ""
    """Detail of its verdict at the level of structure."""
    earlier: Mapping[str, object] | None = None
    """Its entry in the index from before this watch, or from before a rescan."""
    again: bool = False
    """Everything is to be verified again. Until its data has been read, an entry of the index
    counts only if it says that the checkpoint is bad."""

    @property
    def path(self) -> str:
        """Path of the file or folder."""
        return self.place.path

    def check_files(
        self, place: CheckpointPath, now: float, look: Look | None = None, *, seldom: bool = True
    ) -> bool:
        """Look at the files again; returns whether they have changed. ``now``: epoch seconds.

        ``look``: in place of :func:`fingerprint_of`. With ``seldom`` the files of a settled folder
        are looked at every sixteenth time only.
        """
        moved = place.mtime_ns != self.place.mtime_ns
        self.place = place
        if seldom and self.settled and not moved and place.kind is not None:
            self.skipped += 1
            if self.skipped < FULL_LOOK_EVERY:
                return False
            self.skipped = 0
        mark = (look or fingerprint_of)(place)
        if mark is None or mark == self.fingerprint:
            return False
        if mark.bytes > self.fingerprint.bytes or mark.newest_ns > self.fingerprint.newest_ns:
            self.grew_at = now
        # Size and time are as before, so this was no save. The known digest is kept: the next
        # one is compared with it.
        same = mark[:3] == self.fingerprint[:3]
        self.earlier = (self._known() or self.earlier) if same else None
        self.again = self.earlier is not None
        self.fingerprint = mark
        self.changed_at = self.ask_at = now
        self.settled = False
        self.failures = 0
        self.fresh, self.done, self.began = True, False, None
        return True

    def forget(self, now: float) -> None:
        """Have everything verified again. The known digest is kept, to compare the next with it."""
        self.earlier = self._known() or self.earlier
        self.settled = self.done = False
        self.fresh = self.again = True
        self.began, self.ask_at, self.failures = None, now, 0

    def _known(self) -> Mapping[str, object] | None:
        """Its entry for an index if all of its data was read, else ``None``."""
        seen = self.seen
        if seen is None or seen.digest is None:
            return None
        return {
            "saved_at": iso(seen.saved_at),
            "bytes": seen.bytes,
            "files": seen.files,
            "digest": seen.digest,
            "verified": {
                "state": seen.state,
                "level": seen.level,
                "at": iso(seen.at),
                "detail": seen.detail,
            },
        }

    def left_over(self, now: float) -> CheckpointSeen:
        """A report that it is left over from a save that did not finish. Changes nothing here."""
        detail = "left under a temporary name: never renamed"
        return dataclasses.replace(self._bare(now, detail), state="incomplete")

    def pending(self, now: float, detail: str) -> CheckpointSeen:
        """Record that it exists and is not verified yet; ``detail`` says why."""
        self.seen = self._bare(now, detail)
        return self.seen

    def restored(self, now: float) -> CheckpointSeen:
        """Record what an earlier watch found out about the same files, until they are verified."""
        seen, entry = self.pending(now, "being saved"), self.earlier or {}
        verified, kind = entry.get("verified"), entry.get("format")
        if not isinstance(verified, Mapping) or not self._same(entry, seen):
            return seen
        state = verified.get("state")
        if state not in STATES or not isinstance(verified.get("level"), str):
            return seen
        step = number(entry.get("step")) if entry.get("step_origin") != "log" else seen.step
        self.seen = dataclasses.replace(
            seen,
            at=_when(verified.get("at"), now),
            format=str(kind) if kind in recognise.FORMATS else seen.format,
            step=step,
            step_origin=_word(entry.get("step_origin")) if step is not None else None,
            epoch=number(entry.get("epoch")),
            state=state,
            level=verified["level"],
            detail=str(verified.get("detail") or "")[:400],
            digest=_word(entry.get("digest")),
            parts=_words(entry.get("parts")),
        )
        own, told = entry.get("metrics_origin"), entry.get("metrics")
        if own in ("checkpoint", "state") and isinstance(told, Mapping):
            metrics = _numbers(told)
            self.seen = dataclasses.replace(self.seen, metrics=metrics, metrics_origin=str(own))
        return self.seen

    @staticmethod
    def _same(entry: Mapping[str, object], seen: CheckpointSeen) -> bool:
        """Whether an entry of an index is about files of the same time, size and number."""
        return (
            entry.get("saved_at") == iso(seen.saved_at)
            and entry.get("bytes") == seen.bytes
            and entry.get("files") == seen.files
        )

    def _bare(self, now: float, detail: str) -> CheckpointSeen:
        name = self.path.rpartition("/")[2]
        progress = recognise.progress_in_name(self.path)
        kind = self.place.kind
        format_ = recognise.format_by_name(name) if kind is None else "unknown"
        return CheckpointSeen(
            at=now,
            path=self.path,
            saved_at=self.fingerprint.newest_ns / 1e9,
            bytes=self.fingerprint.bytes,
            files=self.fingerprint.files,
            format=kind if kind in ("dcp", "deepspeed", "hf") else format_,
            step=progress.step,
            epoch=progress.epoch,
            detail=detail,
            metrics=progress.metrics,
            step_origin=None if progress.step is None else "name",
            metrics_origin="name" if progress.metrics else None,
        )

    def add_verdict(self, answer: Mapping[str, object], now: float) -> CheckpointSeen:
        """Record the answer of the verifier. A field with an invalid value counts as unknown."""
        state = answer.get("state")
        kind = answer.get("format")
        metrics = answer.get("metrics")
        self.seen = CheckpointSeen(
            at=now,
            path=self.path,
            saved_at=self.fingerprint.newest_ns / 1e9,
            bytes=self.fingerprint.bytes,
            files=self.fingerprint.files,
            format=str(kind) if kind in recognise.FORMATS else "unknown",
            step=number(answer.get("step")),
            epoch=number(answer.get("epoch")),
            state=state if state in STATES else "unverifiable",
            level=str(answer.get("level") or "structure"),
            detail=str(answer.get("detail") or "")[:400],
            metrics=_numbers(metrics if isinstance(metrics, Mapping) else {}),
            step_origin=_word(answer.get("step_origin")),
            metrics_origin=_word(answer.get("metrics_origin")),
            digest=_word(answer.get("digest")),
            parts=_words(answer.get("parts")),
        )
        self.settled = True
        self.again = self.again and state == "ok"
        self.said = self.seen.detail
        self._recall()
        return self.seen

    def read(self, answer: Mapping[str, object], now: float) -> CheckpointSeen | None:
        """Record the result of reading its data; ``None`` while there is more to read."""
        if answer.get("more") is True:
            self.began = now if self.began is None else self.began
            self._tell_how_long(number(answer.get("done")), number(answer.get("of")), now)
            return None
        self.done, self.began, self.again = True, None, False
        if self.seen is None:
            return None
        state = answer.get("state")
        digest = _word(answer.get("digest"))
        if self.seen.state == "unverifiable" and state != "corrupt":
            self.seen = dataclasses.replace(self.seen, at=now, digest=digest)
            return self.seen  # nobody can judge it; by its digest rot is noticed later
        detail = one_detail(self.said, str(answer.get("detail") or ""))
        self.seen = dataclasses.replace(
            self.seen,
            at=now,
            state=state if state in STATES else "unverifiable",
            level=str(answer.get("level") or "structure"),
            detail=detail[:400],
            digest=digest,
        )
        first = (self.earlier or {}).get("digest")
        rotten = bitrot.why_corrupt(self.earlier or {}, digest, self.seen.bytes, self.seen.saved_at)
        if rotten and state == "corrupt":
            self.seen = dataclasses.replace(self.seen, digest=_word(first))
        elif rotten:
            self.seen = dataclasses.replace(
                self.seen, state="corrupt", level="checksum", detail=rotten, digest=_word(first)
            )
        return self.seen

    def _tell_how_long(self, done: float | None, of: float | None, now: float) -> None:
        """Note how far a long reading is; not at every look: the index is written each time."""
        if (
            self.seen is None
            or self.began is None
            or not done
            or not of
            or now - self.told_at < TELL_EVERY_S
        ):
            return
        self.told_at = now
        spent = now - self.began
        if spent < TELL_EVERY_S:
            return
        left = span(spent * (of - done) / done)
        text = f"reading its data: {size(int(done))} of {size(int(of))}, about {left} left"
        self.seen = dataclasses.replace(self.seen, detail=one_detail(self.said, text))

    def _recall(self) -> None:
        """Take over what was found by reading the same files before this watch began."""
        entry, seen = self.earlier, self.seen
        if entry is None or seen is None or seen.state != "ok":
            return
        verified = entry.get("verified")
        if (
            not self._same(entry, seen)
            or not isinstance(verified, Mapping)
            or verified.get("level") not in _READ
        ):
            return
        digest, state = entry.get("digest"), verified.get("state")
        if self.again and state == "ok":
            return
        self.fresh = self.again
        self.seen = dataclasses.replace(
            seen,
            at=_when(verified.get("at"), seen.at),
            state=state if state in STATES else seen.state,
            level=str(verified["level"]),
            detail=str(verified.get("detail") or "")[:400],
            digest=digest if isinstance(digest, str) else None,
        )


def remembered(entry: Mapping[str, object], now: float) -> CheckpointSeen:
    """What an entry of the index says of a checkpoint that cannot be looked at now."""
    sizes = [n if isinstance(n, int) else 0 for n in (entry.get("bytes"), entry.get("files"))]
    newest_ns = round(_when(entry.get("saved_at"), 0.0) * 1e9)
    mark = FilesFingerprint(sizes[0], sizes[1], newest_ns, weights=True)
    place = CheckpointPath(str(entry.get("path")), None, leftover=False, mtime_ns=0)
    followed = Followed(place, mark, now)
    followed.earlier = entry
    return followed.restored(now)


def _when(text: object, otherwise: float) -> float:
    try:
        return epoch(str(text))
    except ValueError:
        return otherwise


def fingerprint_of(
    place: CheckpointPath, leads_far: Callable[[str], bool] | None = None
) -> FilesFingerprint:
    """State of the files now; all zero when they are gone or their folder cannot be read.

    The same in every process. Links for which ``leads_far`` is true are not followed.
    """
    total = files = newest = mixed = 0
    weights = place.kind != "folder"
    with contextlib.suppress(OSError):
        for name, found in _members(place, leads_far):
            total += found.st_size
            files += 1
            newest = max(newest, found.st_mtime_ns)
            named = crc32(name.encode("utf-8", "surrogateescape"))  # hash() differs by process
            times = (found.st_mtime_ns, found.st_ctime_ns)
            mixed ^= hash((named, found.st_size, *times, found.st_ino))
            weights = weights or names.is_weights(name) or name in names.DESCRIBES
    return FilesFingerprint(total, files, newest, mixed, weights)


def _members(
    place: CheckpointPath, leads_far: Callable[[str], bool] | None
) -> Iterator[tuple[str, os.stat_result]]:
    """Names and stats of the files that make up a checkpoint."""
    if place.kind is not None:
        for part in recognise.parts(place.path, leads_far=leads_far):
            yield part.base, part.stat
        return
    try:
        yield place.path, os.stat(place.path)
    except OSError:
        return
    if names.has_family(place.path):
        for part in recognise.family(place.path, leads_far):
            yield part.base, part.stat


def number(value: object) -> float | None:
    """A number from JSON, where ``nan``, ``inf`` and ``-inf`` are strings; else ``None``."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float) or value in ("nan", "inf", "-inf"):
        return float(cast(float, value))
    return None


def _word(value: object) -> str | None:
    return value[:200] if isinstance(value, str) and value else None


def _words(value: object) -> tuple[str, ...]:
    found = value[:MOST_PARTS] if isinstance(value, list) else []
    return tuple(word[:200] for word in found if isinstance(word, str))


def _numbers(values: Mapping[object, object]) -> dict[str, float]:
    found = {str(name): number(value) for name, value in values.items()}
    return {name: value for name, value in found.items() if value is not None}
