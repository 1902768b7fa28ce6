"""One checkpoint of a story."""

from __future__ import annotations

from middlewatch.sentinels.kit import CheckpointSeen
from middlewatch.sentinels.kit.observations import VerifiedState

from .story import Story


def save(
    story: Story,
    step: int,
    state: VerifiedState = "ok",
    *,
    level: str | None = "finite",
    detail: str = "",
) -> Story:
    """A checkpoint as it stands now; one of the same path is replaced."""
    seen = CheckpointSeen(
        at=story.now,
        path=f"/data/out/step_{step}.pt",
        saved_at=story.now - 60 + step,
        bytes=1 << 30,
        files=1,
        format="torch",
        step=float(step),
        state=state,
        level=level,
        detail=detail,
    )
    others = [c for c in story.checkpoints if c.path != seen.path]
    story.checkpoints = [*others, seen]
    story.seen(seen)
    return story
