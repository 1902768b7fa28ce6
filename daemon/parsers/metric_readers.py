"""Readers of files into which a program writes its metrics in a format of its own, as if they were logs."""

from __future__ import annotations

from typing import Any, TypeAlias

from middlewatch.sentinels.kit import Observation

from .event_files import EventText, holds_events, is_event_file
from .mlflow_files import MlflowText, is_mlflow_metric
from .recurring import LiveReader
from .wandb_files import WandbText, holds_wandb, is_wandb_file

MetricText: TypeAlias = EventText | WandbText | MlflowText
"""What turns the bytes of such a file into lines."""
EVENTS, WANDB, MLFLOW = "event file", "wandb file", "MLflow metric"


def kind_of(head: bytes, file: str) -> str:
    """The kind of file that begins with these bytes, for a person; empty for none of ours. A metric of
    MLflow is known by its path alone."""
    if is_mlflow_metric(file):
        return MLFLOW
    return EVENTS if holds_events(head) else WANDB if holds_wandb(head) else ""


def metric_text(kind: str, file: str) -> MetricText:
    """What reads a file of this kind and path."""
    if kind == MLFLOW:
        return MlflowText(file)
    return WandbText() if kind == WANDB else EventText()


def _by_name(file: str) -> str:
    return MLFLOW if is_mlflow_metric(file) else WANDB if is_wandb_file(file) else EVENTS


def is_readable(path: str) -> bool:
    """True for a name of a file that is read in this way."""
    return is_event_file(path) or is_wandb_file(path) or is_mlflow_metric(path)


class MetricFileReader(LiveReader):
    """A :class:`.recurring.LiveReader` of such a file."""

    def __init__(self, file: str, rank: int | None = None) -> None:
        super().__init__(file, rank)
        self._text = metric_text(_by_name(file), file)

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
