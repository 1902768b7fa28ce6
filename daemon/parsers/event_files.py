"""Event files of TensorBoard as lines of text, so that they are read like any other log.

A program that reports only there prints nothing: ``add_scalar("train/loss", 0.5, 120)`` becomes the
line ``step=120 train/loss=0.5``. Values of one step that follow each other share a line. Anything but
scalars (images, histograms, graphs) is skipped.

Format: TFRecord (tensorflow/core/lib/io/record_writer.cc): length as u64, its masked CRC-32C, the record, a
CRC-32C of the record. A record is an ``Event`` (tensorflow/core/util/event.proto) in the wire format of
protocol buffers. The length is checked by its checksum, the record is not: a value is a report, not a
weight.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field
from typing import Any, ClassVar

from .protobuf import fields_of

HEAD_BYTES = 12
"""Length and checksum before a record; another checksum of 4 bytes comes after it."""
RECORD_BYTES = 1 << 20
"""Larger records hold pictures or graphs and are skipped without being kept."""
MOST_BYTES = 1 << 40
"""No record is larger: a greater length is damage."""
MOST_VALUES = 64
"""Values joined into one line."""
_BEGINS = b"brain.Event:"
_BLANK = re.compile(r"[\s=,]+")
_FLOAT = 1
"""DT_FLOAT of tensorflow/core/framework/types.proto."""


def is_event_file(path: str) -> bool:
    """True for a name as every writer of event files gives it."""
    return ".tfevents." in path.rpartition("/")[2]


def holds_events(head: bytes) -> bool:
    """True for the first bytes of such a file: its first event holds the version."""
    return _BEGINS in head[HEAD_BYTES : HEAD_BYTES + 64]


@dataclass(eq=False)
class EventText:
    """Bytes of an event file in, cut anywhere; lines of text out.

    The values of a step are written with the next step, or with the end of what was fed. A step lower than
    an earlier one (an evaluation counted in epochs beside batches) is left out of its line.
    """

    SAVED: ClassVar[Any] = {
        "held": "held",
        "skip": "skip",
        "newest": "newest",
        "damaged": "damaged",
    }
    held: bytes = b""
    """The beginning of a record."""
    skip: int = 0
    """Bytes still to come of a record that is not read."""
    newest: int = -1
    """The highest step so far."""
    damaged: bool = False
    """The length of a record did not fit its checksum: nothing more can be read."""
    _step: int = 0
    _values: list[str] = field(default_factory=list)

    def feed(self, data: bytes) -> bytes:
        """The lines that are complete with ``data``; none after damage."""
        if self.damaged:
            return b""
        lines: list[str] = []
        data = self.held + data
        at = min(self.skip, len(data))
        self.skip -= at
        while not self.skip and len(data) - at >= HEAD_BYTES:
            size = _length(data[at : at + HEAD_BYTES])
            if size is None:
                self.damaged, at = True, len(data)
                break
            end = at + HEAD_BYTES + size + 4
            if size > RECORD_BYTES:
                self.skip = max(0, end - len(data))
                at = min(end, len(data))
            elif end <= len(data):
                self._take(data[at + HEAD_BYTES : end - 4], lines)
                at = end
            else:
                break
        self.held = data[at:]
        self._flush(lines)
        return "".join(lines).encode("utf-8", "replace")

    def _take(self, record: bytes, lines: list[str]) -> None:
        step, values = _scalars(record)
        if not values:
            return
        if step != self._step or len(self._values) >= MOST_VALUES:
            self._flush(lines)
        self._step = step
        self._values += values

    def _flush(self, lines: list[str]) -> None:
        if not self._values:
            return
        number = f"step={self._step} " if self._step >= self.newest else ""
        self.newest = max(self.newest, self._step)
        lines.append(f"{number}{' '.join(self._values)}\n")
        self._values = []


def _length(head: bytes) -> int | None:
    """The size of a record; ``None`` if it does not fit its checksum, so that the next is not found."""
    size, said = struct.unpack("<QI", head)
    fits = size <= MOST_BYTES and _masked(_crc32c(head[:8])) == said
    return int(size) if fits else None


def _scalars(record: bytes) -> tuple[int, list[str]]:
    """(step, ``tag=value`` of each scalar) of an ``Event``; nothing of a record that is none."""
    step, values = 0, []
    try:
        for number, value in fields_of(record):
            if number == 2 and isinstance(value, int):
                step = value if value < 1 << 63 else value - (1 << 64)
            elif number == 5 and isinstance(value, bytes):
                for inner, one in fields_of(value):
                    text = _value(one) if inner == 1 and isinstance(one, bytes) else ""
                    values += [text] if text else []
    except (ValueError, IndexError, struct.error):
        return step, []
    return step, values


def _value(summary: bytes) -> str:
    """``tag=value`` of a ``Summary.Value``; empty for anything but a scalar."""
    tag, number = "", None
    for field_number, value in fields_of(summary):
        if field_number == 1 and isinstance(value, bytes):
            tag = _BLANK.sub("_", value.decode("utf-8", "replace").strip())[:80]
        elif field_number == 2 and isinstance(value, bytes):
            number = struct.unpack("<f", value)[0]
        elif field_number == 8 and isinstance(value, bytes):
            number = _of_tensor(value)
    return f"{tag}={number:.7g}" if tag and number is not None else ""


def _of_tensor(tensor: bytes) -> float | None:
    """The number of a ``TensorProto`` that holds one float, as TensorFlow 2 writes scalars."""
    kind, content = None, b""
    for number, value in fields_of(tensor):
        if number == 1:
            kind = value
        elif number in (4, 5) and isinstance(value, bytes):
            content = value
    return struct.unpack("<f", content)[0] if kind == _FLOAT and len(content) == 4 else None


def _crc32c_table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return tuple(table)


_TABLE = _crc32c_table()


def _crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def _masked(crc: int) -> int:
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
