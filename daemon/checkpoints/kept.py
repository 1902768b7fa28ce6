"""The checkpoints of an index as observations again, for a run that ended before this daemon began.

Nobody follows its folders any more; without this its page would say that no checkpoint was seen.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from middlewatch.sentinels.kit import CheckpointSeen
from middlewatch.sentinels.kit.observations import Durability

from ..system.clock import epoch


def kept_checkpoints(index: Mapping[str, Any]) -> list[CheckpointSeen]:
    """What the entries of an index say, in their order; one that cannot be understood is left out."""
    found = []
    for entry in index.get("checkpoints", ()):
        with contextlib.suppress(AttributeError, KeyError, TypeError, ValueError):
            found.append(_seen(entry))
    return found


def _seen(entry: Mapping[str, Any]) -> CheckpointSeen:
    verified, durable = entry["verified"], entry.get("durability")
    saved_at = epoch(entry["saved_at"])
    copied = entry.get("mirrored") or {}
    return CheckpointSeen(
        at=epoch(verified["at"]) if verified.get("at") else saved_at,
        path=entry["path"],
        saved_at=saved_at,
        bytes=entry["bytes"],
        files=entry["files"],
        format=entry.get("format", ""),
        step=_number(entry.get("step")),
        epoch=_number(entry.get("epoch")),
        state=verified["state"],
        level=verified["level"],
        detail=verified.get("detail", ""),
        metrics={name: float(value) for name, value in entry["metrics"].items()},
        step_origin=entry.get("step_origin"),
        metrics_origin=entry.get("metrics_origin"),
        digest=entry.get("digest"),
        parts=tuple(entry.get("parts", ())),
        durability=Durability(**durable) if durable else None,
        mirrored=copied.get("to", "") if copied.get("state") == "ok" else "",
    )


def _number(value: float | str | None) -> float | None:
    return None if value is None else float(value)
