"""Metrics in the file store of MLflow as lines of text, so that they are read like any other log.

The store has a file for each metric of a run, ``mlruns/EXPERIMENT/RUN/metrics/val/loss``, and its client appends
a line for each value: ``1795686954798 0.5 120`` (milliseconds since 1970, value, step;
mlflow/store/tracking/file_store.py). That becomes ``step=120 val/loss=0.5``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, ClassVar

from middlewatch.sentinels.kit.codec import UNSAVED

LINE_BYTES = 512
"""A longer line is no metric."""
_PLACE = re.compile(r"(?:^|/)[0-9a-f]{32}/metrics/(?P<key>[^\n]+)$")
_BLANK = re.compile(r"[\s=,]+")
_LINE = re.compile(rb"(\d{10,16}) (\S{1,32}) (-?\d{1,18})")


def is_mlflow_metric(path: str) -> bool:
    """True for a path as the file store of MLflow gives it to a metric."""
    return _PLACE.search(path) is not None


@dataclass(eq=False)
class MlflowText:
    """Bytes of such a file in, cut anywhere; lines of text out. See :class:`.event_files.EventText`."""

    SAVED: ClassVar[Any] = {"held": "held", "damaged": "damaged"}
    file: str = field(default="", metadata=UNSAVED)
    held: bytes = b""
    """The beginning of a line."""
    damaged: bool = False
    """A line was no metric: this is another kind of file."""

    @property
    def skip(self) -> int:
        """Bytes still missing of a record that has begun; 0 or 1."""
        return int(bool(self.held))

    def feed(self, data: bytes) -> bytes:
        """The lines that are complete with ``data``; none after damage."""
        if self.damaged:
            return b""
        *lines, self.held = (self.held + data).split(b"\n")
        place = _PLACE.search(self.file)
        key = (
            _BLANK.sub("_", place["key"])[:80].encode("utf-8", "surrogateescape")
            if place
            else b"value"
        )
        said = []
        for line in lines:
            found = _LINE.fullmatch(line.rstrip(b"\r"))
            if found is None:
                self.damaged, self.held = True, b""
                break
            said.append(b"step=%b %b=%b\n" % (found[3], key, found[2]))
        if len(self.held) > LINE_BYTES:
            self.damaged, self.held = True, b""
        return b"".join(said)
