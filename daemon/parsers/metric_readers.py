"""Readers of files into which a program writes its metrics in a format of its own, as if they were logs."""

from __future__ import annotations

from typing import Any

from middlewatch.sentinels.kit import Observation

from .event_files import EventText, holds_events, is_event_file
from .recurring import LiveReader
from .wandb_files import WandbText, holds_wandb, is_wandb_file


def text_of(file: str) -> EventText | WandbText:
    """What turns the bytes of a file of this name into lines."""
    return WandbText() if is_wandb_file(file) else EventText()


def kind_of(head: bytes) -> str:
    """The kind of file that begins with these bytes, for a person; empty for none of ours."""
    return "event file" if holds_events(head) else "wandb file" if holds_wandb(head) else ""


def is_readable(path: str) -> bool:
    """True for a name of a file that is read in this way."""
    return is_event_file(path) or is_wandb_file(path)


class MetricFileReader(LiveReader):
    """A :class:`.recurring.LiveReader` of such a file."""

    def __init__(self, file: str, rank: int | None = None) -> None:
        super().__init__(file, rank)
        self._text = text_of(file)

    @property
    def damaged(self) -> bool:
        """Nothing more of it can be read."""
        return self._text.damaged

    def feed(self, data: bytes, now: float) -> list[Observation]:
        """As :meth:`.reader.LogReader.feed`, for the bytes of such a file."""
        return super().feed(self._text.feed(data), now)

    def _parts(self) -> tuple[tuple[str, Any], ...]:
        return (*super()._parts(), ("metric_file", self._text))


def live_reader(file: str) -> type[LiveReader]:
    """The kind of reader that understands a file of this name."""
    return MetricFileReader if is_readable(file) else LiveReader
