"""The files of Weights & Biases (``run-ID.wandb``) as lines of text, so that they are read like any other log.

A program that reports only by ``wandb.log`` prints nothing, but its client writes each report into such a file,
online and offline. ``wandb.log({"loss": 0.5}, step=120)`` becomes the line ``step=120 loss=0.5``.

Format: a head of 7 bytes, then records in the format of LevelDB's log (doc/log_format.md): blocks of 32 KiB, in
them pieces with checksum (u32), length (u16) and kind (whole, first, middle, last); a record is a ``Record``
of wandb/proto/wandb_internal.proto, of which the field ``history`` is read. Checksums are not verified.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from .protobuf import fields_of

BLOCK_BYTES = 1 << 15
HEAD_BYTES = 7
"""Of the file, and before each piece."""
RECORD_BYTES = 1 << 20
"""Larger records hold pictures or tables and are not kept."""
_BEGINS = b":W&B\xe1\xbe"
_WHOLE, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_BLANK = re.compile(r"[\s=,]+")


def is_wandb_file(path: str) -> bool:
    """True for a name as the client of Weights & Biases gives it."""
    return path.endswith(".wandb")


def holds_wandb(head: bytes) -> bool:
    """True for the first bytes of such a file."""
    return head.startswith(_BEGINS)


@dataclass(eq=False)
class WandbText:
    """Bytes of a ``.wandb`` file in, cut anywhere; lines of text out. See :class:`.event_files.EventText`."""

    SAVED: ClassVar[Any] = {"held": "held", "at": "at", "record": "record", "damaged": "damaged"}
    held: bytes = b""
    """The beginning of a piece."""
    at: int = 0
    """Bytes before it."""
    record: bytes = b""
    """The pieces of a record so far."""
    damaged: bool = False
    """A piece was of no known kind: nothing more can be read."""

    @property
    def skip(self) -> int:
        """Bytes still missing of a record that has begun; 0 or 1."""
        return int(bool(self.record))

    def feed(self, data: bytes) -> bytes:
        """The lines that are complete with ``data``; none after damage."""
        data = self.held + data
        lines: list[str] = []
        place = 0
        while not self.damaged:
            taken = self._piece(data, place, lines)
            if not taken:
                break
            place += taken
        self.at += place
        self.held = b"" if self.damaged else data[place:]
        return "".join(lines).encode("utf-8", "replace")

    def _piece(self, data: bytes, place: int, lines: list[str]) -> int:
        """Take the next piece, or what fills a block; the bytes taken, 0 when more is needed."""
        here, there = self.at + place, len(data) - place
        if not here:
            self.damaged = there >= HEAD_BYTES and not holds_wandb(data)
            return HEAD_BYTES if there >= HEAD_BYTES else 0
        left = BLOCK_BYTES - here % BLOCK_BYTES
        if left < HEAD_BYTES:
            return min(left, there)
        if there < HEAD_BYTES:
            return 0
        size: int
        kind: int
        _, size, kind = struct.unpack("<IHB", data[place : place + HEAD_BYTES])
        if not _WHOLE <= kind <= _LAST or size > left - HEAD_BYTES:
            self.damaged = True
            return 0
        if there < HEAD_BYTES + size:
            return 0
        piece = data[place + HEAD_BYTES : place + HEAD_BYTES + size]
        self.record = piece if kind in (_WHOLE, _FIRST) else self.record + piece
        if len(self.record) > RECORD_BYTES:
            self.record = self.record[:1]
        if kind in (_WHOLE, _LAST):
            lines += _line(self.record)
            self.record = b""
        return HEAD_BYTES + size


def _line(record: bytes) -> list[str]:
    """The line of a report: one, or none of any other record."""
    try:
        report = next(_messages(record, 2), b"")
        named = dict(filter(None, (_item(item) for item in _messages(report, 1))))
    except (ValueError, IndexError):
        return []
    step = named.pop("_step", None)
    shown = [f"{key}={value:.7g}" for key, value in named.items() if not key.startswith("_")]
    if not shown:
        return []
    return [" ".join([*([] if step is None else [f"step={step:.0f}"]), *shown]) + "\n"]


def _messages(message: bytes, wanted: int) -> Iterator[bytes]:
    """The fields of this number; in a damaged record one may be an integer, and is left out."""
    for number, value in fields_of(message):
        if number == wanted and isinstance(value, bytes):
            yield value


def _item(item: bytes) -> tuple[str, float] | None:
    """(key, number) of a ``HistoryItem``; ``None`` if its value is none."""
    keys, value = [], ""
    for number, part in fields_of(item):
        if number in (1, 2) and isinstance(part, bytes) and part:
            keys.append(_BLANK.sub("_", part.decode("utf-8", "replace")))
        elif number == 16 and isinstance(part, bytes):
            value = part.decode("utf-8", "replace")
    try:
        read = json.loads(value)
    except ValueError:
        return None
    if isinstance(read, str) and read in ("NaN", "Infinity", "-Infinity"):
        read = float(read)
    if isinstance(read, bool) or not isinstance(read, (int, float)) or not keys:
        return None
    return "/".join(keys)[:80], float(read)
