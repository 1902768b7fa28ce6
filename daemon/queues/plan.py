"""How many cells at once, and which GPUs each has. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from .cells import Cell
from .roster import QueueState
from .shards import Shard, shard


@dataclass(frozen=True, slots=True)
class Settings:
    """What the command line said. ``slots``: GPUs, as CUDA_VISIBLE_DEVICES names them, for ``each-gpu``."""

    mode: Literal["serial", "at-once", "each-gpu"] = "serial"
    at_once: int = 1
    slots: tuple[str, ...] = ()
    shard: str = "1/1"

    def to_json(self) -> dict[str, Any]:
        """As it stands in the journal."""
        return asdict(self)

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Settings:
        """From the journal; what is missing is as by default."""
        mode = data.get("mode")
        return cls(
            mode=mode if mode in ("at-once", "each-gpu") else "serial",
            at_once=int(data.get("at_once", 1)),
            slots=tuple(map(str, data.get("slots", ()))),
            shard=str(data.get("shard", "1/1")),
        )


def shard_of(data: Mapping[str, Any]) -> Shard:
    """The shard of settings of the journal."""
    return shard(Settings.of(data).shard)


class Room:
    """What is free now."""

    def __init__(self, settings: Settings, roster: QueueState) -> None:
        self._settings = settings
        self._busy = len(roster.named("running", "claimed"))
        taken = set(roster.slots_taken())
        self._free: Sequence[str] = [one for one in settings.slots if one not in taken]
        self.slots = len(settings.slots)

    @property
    def full(self) -> bool:
        """No cell can be started, whatever it needs."""
        by_gpu = self._settings.mode == "each-gpu"
        return self._busy >= (self.slots if by_gpu else self._settings.at_once)

    def could_ever(self, cell: Cell) -> bool:
        """Whether the queue has as many GPUs as the cell needs."""
        return self._settings.mode != "each-gpu" or cell.settings.gpus <= self.slots

    def fits(self, cell: Cell) -> bool:
        """Whether it can be started now."""
        if self._settings.mode != "each-gpu":
            return not self.full
        return not self.full and cell.settings.gpus <= len(self._free)

    def gpus_for(self, cell: Cell) -> tuple[str, ...] | None:
        """The GPUs that it gets: the first free ones; ``None`` where the queue does not hand out GPUs."""
        if self._settings.mode != "each-gpu":
            return None
        return tuple(self._free[: cell.settings.gpus])
