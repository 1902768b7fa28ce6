"""All good checkpoints of the run are on storage that is lost when the box stops.

Decides: Looks at where the verified checkpoints are stored. Memory is lost at a stop of every box;
    what the platform's own storage survives is known if the platform was recognised or is named in
    the configuration. One good checkpoint that survives a stop, that was copied, or whose storage
    is unknown, is enough for no finding, and so is a first save that is young: the run may move it
    yet. If all survive a stop but none the destruction of the box,
    that is a note.
Classes: ckpt_not_durable
Sources: Our choice: ten minutes, in which nobody loses much; reported once and kept open until half an hour has passed without the finding,
    because a file that is always overwritten in place is no good checkpoint while it is written and
    verified.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .kit import CheckpointSeen, Evidence, Finding, Sentinel, Severity, View
from .kit.numbers import short_path
from .kit.recovery import OpenIncident

LOST_WITH_STOP, LOST_WITH_BOX, LASTING = range(3)


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.checkpoint_not_durable]`."""

    after_s: float = 600.0
    """Age of the oldest good save from which it is reported: some programs save to memory first,
    and copy from there."""
    note_destroy: bool = True
    """Also report, as a note, if all saves survive a stop but not the destruction of the box."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """A finding while no good save is on storage that survives the box."""
    if not view.live:
        return
    best, newest = LOST_WITH_STOP, None
    good: list[float] = []
    for seen in reversed(view.checkpoints):
        if seen.state != "ok":
            continue
        best = max(best, _lasts(seen))
        if best == LASTING:
            return
        newest = newest or seen
        good.append(seen.saved_at)
    if (
        newest is None
        or view.now - min(good) < limits.after_s
        or (best == LOST_WITH_BOX and not limits.note_destroy)
    ):
        return
    yield _lost(newest, with_stop=best == LOST_WITH_STOP)


def _lasts(seen: CheckpointSeen) -> int:
    place = seen.durability
    if seen.mirrored or place is None:
        return LASTING
    if place.survives_stop is False:
        return LOST_WITH_STOP
    if place.survives_stop and place.survives_destroy is False:
        return LOST_WITH_BOX
    return LASTING  # as far as anybody knows


def _lost(newest: CheckpointSeen, *, with_stop: bool) -> Finding:
    place = newest.durability
    where, better = (place.where, place.better) if place else ("", "")
    when = "a stop of the box takes it" if with_stop else "it goes when the box is given back"
    advice = f"; from now on {better}" if better else ""
    return Finding(
        trouble="ckpt_not_durable",
        severity=Severity.WARNING if with_stop else Severity.INFO,
        summary=f"every good checkpoint lies where {when}: {where}",
        evidence=(Evidence("checkpoint", f"newest good one: {newest.path}", newest.saved_at),),
        remedy="copy it to durable storage, with `middlewatch mirror --to DEST`: "
        f"{newest.path}{advice}",
        details={
            "path": newest.path,
            "where": where,
            "survives_stop": not with_stop,
            "survives_destroy": False,
            "better": better,
        },
    )


def recovered(view: View, limits: Limits, case: OpenIncident) -> str:
    """Words once a good save is on storage that survives the box."""
    for seen in reversed(view.checkpoints):
        if seen.state == "ok" and _lasts(seen) == LASTING:
            how = (
                "was copied off the box" if seen.mirrored else "is on storage that survives the box"
            )
            return f"{short_path(seen.path)} {how}"
    return ""


SENTINEL = Sentinel(
    check,
    Limits(),
    on=(CheckpointSeen,),
    every_tick=True,
    clears_after_s=1800.0,
    recovered=recovered,
)
