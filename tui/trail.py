"""What was seen of a box since the screen was opened: readings that the daemon's answer has no history of.

Bounded: the newest :data:`KEPT` readings of each thing, one a second.
"""

from __future__ import annotations

from collections import deque

from . import answer
from .answer import Answer

KEPT = 600
"""Readings of each thing: ten minutes at one a second."""
LEAST_S = 30.0
"""Seconds that a forecast needs at least; our choice: three readings of a disk, one every ten seconds."""
GPU_KEYS = ("util_ratio", "mem_used_bytes", "power_w", "temp_c", "sm_clock_mhz")
DISK_KEYS = ("free_bytes", "free_inodes")
Reading = tuple[float, float]
"""Epoch seconds, and a value in the unit of the field."""


class Trail:
    """Readings by name of the thing and of the field."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], deque[Reading]] = {}
        self._at = 0.0

    def note(self, found: Answer) -> None:
        """Take the readings of an answer; one that is not newer than the last adds nothing."""
        at = answer.epoch(found, "updated_at")
        if at is None or at <= self._at:
            return
        self._at = at
        box = answer.record(found, "box")
        for gpu in answer.records(box, "gpus"):
            name = f"gpu{answer.finite(gpu, 'index')}"
            for key in GPU_KEYS:
                self._add(name, key, at, answer.finite(gpu, key))
        for disk in answer.records(box, "disks"):
            for key in DISK_KEYS:
                self._add(answer.text(disk, "mount"), key, at, answer.finite(disk, key))
        for run in answer.records(found, "runs"):
            step = answer.finite(answer.record(run, "now"), "step")
            self._add(answer.text(run, "run"), "step", at, step)

    def of(self, thing: str, key: str) -> list[Reading]:
        """The readings, oldest first."""
        return list(self._kept.get((thing, key), ()))

    def empty_in(self, thing: str, key: str) -> float | None:
        """Seconds until a reading that falls is 0, at its mean rate so far; ``None`` if it does not
        fall, or was not seen for :data:`LEAST_S`."""
        kept = self.of(thing, key)
        if len(kept) < 2 or kept[-1][0] - kept[0][0] < LEAST_S or kept[-1][1] >= kept[0][1]:
            return None
        rate = (kept[0][1] - kept[-1][1]) / (kept[-1][0] - kept[0][0])
        return kept[-1][1] / rate

    def rates(self, run: str) -> list[Reading]:
        """Steps per second of a run against its step, over windows of 10 s."""
        kept, found, first = self.of(run, "step"), [], 0
        for place, (at, step) in enumerate(kept):
            while at - kept[first][0] > 10.0:
                first += 1
            before = kept[first]
            if place > first and step >= before[1] and at - before[0] >= 5.0:
                found.append((step, (step - before[1]) / (at - before[0])))
        return found

    def _add(self, thing: str, key: str, at: float, value: float | None) -> None:
        if value is not None and thing:
            self._kept.setdefault((thing, key), deque(maxlen=KEPT)).append((at, value))
