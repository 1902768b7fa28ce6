"""What a command found out about a save that the daemon follows: ``verify`` has read it again, or loaded it.

It holds only for the bytes that the daemon knows: a save that was written since is another one. What is bad
counts at once and stays; what is good counts where it says more than is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from middlewatch.sentinels.kit import CheckpointSeen
from middlewatch.sentinels.kit.observations import VerifiedState

from ..checkpoints.followed import Followed

_LEVELS = ("structure", "checksum", "finite", "load")
_BAD = ("corrupt", "incomplete")
_GRAIN_S = 0.002
"""Seconds by which two times of a save may differ: both are rounded."""
_LONGEST = 400


@dataclass(frozen=True, slots=True)
class ToldVerdict:
    """A verdict about the save at one of these paths (it may be reached by a link)."""

    paths: tuple[str, ...]
    bytes: int
    saved_at: float
    """Epoch seconds: the time of its newest file when it was verified."""
    state: VerifiedState
    level: str
    detail: str
    digest: str | None


def told_verdict(said: Any) -> ToldVerdict | None:
    """Take a verdict from a message; ``None`` for anything else, and for what says nothing."""
    if not isinstance(said, Mapping) or not isinstance(said.get("paths"), list):
        return None
    paths = tuple(path for path in said["paths"][:4] if isinstance(path, str))
    state, level, digest = said.get("state"), said.get("level"), said.get("digest")
    size, saved_at = said.get("bytes"), said.get("saved_at")
    if state not in (*_BAD, "ok") or level not in _LEVELS or not paths:
        return None
    if not isinstance(size, int) or not isinstance(saved_at, int | float):
        return None
    return ToldVerdict(
        paths,
        size,
        float(saved_at),
        cast(VerifiedState, state),
        str(level),
        str(said.get("detail") or "")[:_LONGEST],
        digest if isinstance(digest, str) else None,
    )


def judged(seen: CheckpointSeen, told: ToldVerdict, now: float) -> CheckpointSeen | None:
    """``seen`` with this verdict; ``None`` where it is about other bytes, or says nothing new."""
    if seen.bytes != told.bytes or abs(seen.saved_at - told.saved_at) > _GRAIN_S:
        return None
    verdict = (told.state, told.level, told.detail)
    if told.state in _BAD:
        if (seen.state, seen.level, seen.detail) == verdict:
            return None
        # The digest of the first reading stays: whoever reads it later finds the same.
        return replace(
            seen,
            at=now,
            state=told.state,
            level=told.level,
            detail=told.detail,
            digest=seen.digest or told.digest,
        )
    higher = seen.level is None or _LEVELS.index(told.level) > _LEVELS.index(seen.level)
    if seen.state != "ok" or not higher or (told.digest or seen.digest) is None:
        return None
    if seen.digest and told.digest and seen.digest != told.digest:
        return None  # the command knows no digest of ours; it must not hide rot
    return replace(
        seen, at=now, level=told.level, detail=told.detail, digest=seen.digest or told.digest
    )


def take(followed: Followed, told: ToldVerdict, now: float) -> CheckpointSeen | None:
    """Note a verdict about a save that is followed; what is to be told of it, else ``None``."""
    if followed.seen is None or followed.place.leftover:
        return None
    found = judged(followed.seen, told, now)
    if found is not None:
        followed.seen, followed.said = found, found.detail
        followed.settled = followed.done = True
        followed.began = None
    return found
