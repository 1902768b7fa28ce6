"""Build the index again from the files on disk, without the daemon."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from middlewatch.sentinels.kit import CheckpointSeen

from ..config.save_folder import SaveFolder
from .finder import CheckpointFinder, CheckpointPath
from .followed import Followed, fingerprint_of
from .index import build
from .ranking import RankingRules
from .verify import levels, roster


def on_disk(
    folders: Sequence[str], now: float, learnt: Sequence[SaveFolder] = ()
) -> list[Followed]:
    """The checkpoints in some folders, newest first, without files of temporary names.

    A folder that cannot be read counts as empty. ``learnt``: of which of them only some names
    count.
    """
    found = []
    for folder in folders:
        known = [one for one in learnt if one.path == folder]
        try:
            places = CheckpointFinder([folder], known).scan_all().values()
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
    """Verify one of them in this process, up to ``level``. ``now``: epoch seconds."""
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
    learnt: Sequence[SaveFolder] = (),
) -> dict[str, Any]:
    """The index of a run, with every checkpoint verified now.

    ``before``: an earlier index of the run, for what the log said and for digests to compare with.
    ``marked``: adds the durability of the storage on which each checkpoint lies. ``learnt``: as
    in :func:`on_disk`.
    """
    with roster.together():
        seen = [verify_one(each, now, level, progress) for each in on_disk(folders, now, learnt)]
    index = build(run, marked(seen), now, rules=rules, started_at=started_at, before=before)
    for entry in index["checkpoints"]:
        entry["mirrored"] = None
    index["resumed_from"] = (before or {}).get("resumed_from")
    return index
