"""The index made anew from what lies on disk, with no daemon."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from middlewatch.sentinels.kit import CheckpointSeen

from .finder import CheckpointFinder, CheckpointPath
from .followed import Followed, fingerprint_of
from .index import build
from .ranking import RankingRules
from .verify import levels


def on_disk(folders: Sequence[str], now: float) -> list[Followed]:
    """The checkpoints in some folders, newest first; temporaries are none.

    Folders that cannot be read hold nothing.
    """
    found = []
    for folder in folders:
        try:
            places = CheckpointFinder([folder]).scan(now).values()
        except OSError:
            continue
        found += [followed for place in places if (followed := _followed(place, now))]
    return sorted(found, key=lambda f: (-f.fingerprint.newest_ns, f.path))


def _followed(place: CheckpointPath, now: float) -> Followed | None:
    mark = fingerprint_of(place)
    if place.leftover or not mark.files or not mark.weights:
        return None
    return Followed(place, mark, now)


def verify_one(
    followed: Followed, now: float, level: str, progress: levels.Told | None = None
) -> CheckpointSeen:
    """One of them, verified in this process up to ``level``."""
    return followed.add_verdict(levels.describe(followed.path, level, progress), now)


def rebuilt(
    run: str,
    folders: Sequence[str],
    now: float,
    rules: RankingRules,
    *,
    level: str = levels.FINITE,
    started_at: float | None = None,
    before: Mapping[str, Any] | None = None,
    progress: levels.Told | None = None,
    marked: Callable[[list[CheckpointSeen]], list[CheckpointSeen]] = list,
) -> dict[str, Any]:
    """The index of a run, everything in it verified just now.

    ``before``: an earlier index of it, for what the log said and for digests to compare with.
    ``marked`` adds what is known of the places where they lie.
    """
    seen = [verify_one(each, now, level, progress) for each in on_disk(folders, now)]
    index = build(run, marked(seen), now, rules=rules, started_at=started_at, before=before)
    for entry in index["checkpoints"]:
        entry["mirrored"] = None
    index["resumed_from"] = (before or {}).get("resumed_from")
    return index
