"""The checkpoints of a healthy run, as the follower of the daemon would tell of them."""

from __future__ import annotations

import random
from dataclasses import replace

from middlewatch.sentinels.kit import CheckpointSeen, Durability

from .acts import Act

READ_AFTER_S = 12.0
"""A save is followed as ``pending``, found whole, and read to its end so much later."""
PLACES = (
    None,
    Durability(None, None, "local disk (ext4 /data)"),
    Durability(True, True, "network (nfs4 /data)"),
)
"""What nobody calls a trouble: a lasting place, and one of which nothing is known."""


def parts_of(ranks: int) -> tuple[int, tuple[str, ...]]:
    """Files and parts of a save: one file of a single process, a folder with a file of each rank."""
    if ranks == 1:
        return 1, ("model×148", "optimizer×296")
    return ranks + 2, ("model.safetensors×1", "optimizer.pt×1", f"rng_state_#.pth×{ranks}")


class Saves:
    """What is on disk, and what of it was read."""

    def __init__(self, seed: str) -> None:
        self._rng = random.Random(f"saves of {seed}")
        self._place = self._rng.choice(PLACES)
        self._rotated: list[CheckpointSeen] = []
        self._kept: list[CheckpointSeen] = []
        self._to_read: list[CheckpointSeen] = []

    @property
    def there(self) -> list[CheckpointSeen]:
        """All of them, by time."""
        return sorted([*self._kept, *self._rotated], key=lambda s: s.saved_at)

    @property
    def bytes(self) -> int:
        """Of all of them."""
        return sum(s.bytes for s in (*self._kept, *self._rotated))

    def add(self, act: Act, now: float, since: float, ranks: int) -> list[CheckpointSeen]:
        """A save that is complete now, ``since`` seconds into the run; what is told of it."""
        path = f"/data/ckpt/save-{int(since)}-{len(self._rotated)}"
        size = (act.saves or 0) + self._rng.randrange(4096)  # counters, names, alignment
        files, parts = parts_of(ranks)
        pending = CheckpointSeen(
            now, path, now, size, files, "torch", act.step, durability=self._place
        )
        whole = replace(pending, state="ok", level="structure", parts=parts)
        if act.kept_for_ever:
            self._kept.append(whole)
        else:
            self._rotated = [*self._rotated, whole][-(act.keep or 10**6) :]
        self._to_read.append(whole)
        return [pending, whole]

    def read(self, now: float) -> list[CheckpointSeen]:
        """Saves whose data was read to the end by now: all of it is finite."""
        told = []
        while self._to_read and abs(now - self._to_read[0].saved_at) >= READ_AFTER_S:
            whole = self._to_read.pop(0)
            if not any(one is whole for one in self.there):
                continue  # gone before its turn came
            digest = f"xxh3:{self._rng.getrandbits(128):032x}"
            read = replace(whole, at=now, level="finite", digest=digest)
            self._kept = [read if one is whole else one for one in self._kept]
            self._rotated = [read if one is whole else one for one in self._rotated]
            told.append(read)
        return told
