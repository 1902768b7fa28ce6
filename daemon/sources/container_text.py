"""The text of a container's log out of the records in which docker keeps it.

A record is a line of one stream, or a piece of a long line: docker cuts after 16 KiB. Pieces of stdout
and stderr may alternate, so each stream is put together by itself before the parsers see it.

The driver ``json-file`` writes a record a line: ``{"log": TEXT, "stream": NAME, "time": TIME}``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from middlewatch.sentinels.kit import LineSigns, Observation, codec

from ..parsers.lines import MAX_LINE_BYTES
from ..parsers.recurring import LiveReader
from .engine_time import stamp_ns

SAVED = "container"
"""Under this name :class:`ContainerText` is in the saved state of its reader."""
LONGEST_RECORD = 1 << 20
"""Bytes of a line of a json-file: 16 KiB of text are 96 KiB at most, with every letter escaped."""


@dataclass(slots=True)
class Held:
    """What waits for its rest."""

    line: bytes = b""
    """The beginning of a record."""
    stdout: bytes = b""
    stderr: bytes = b""


@dataclass(slots=True)
class ContainerText:
    """Gives the text of records to ``reader``; takes its place before a file of the driver ``json-file``.

    Records from before ``since_ns`` or from ``until_ns`` on (nanoseconds since the epoch) are of
    other starts of the container, and are left out.
    """

    reader: LiveReader
    since_ns: int = 0
    until_ns: int | None = None
    held: Held = field(default_factory=Held)
    _begun: bool = False

    @property
    def lines(self) -> int:
        """Complete lines so far."""
        return self.reader.lines

    @property
    def signs(self) -> LineSigns:
        """What the lines without a report are about."""
        return self.reader.signs

    def feed(self, data: bytes, now: float) -> Iterable[Observation]:
        """Take the next bytes of a json-file, cut anywhere."""
        *lines, self.held.line = (self.held.line + data).split(b"\n")
        if len(self.held.line) > LONGEST_RECORD:
            self.held.line = b""
        return self.reader.feed(b"".join(map(self._record, lines)), now)

    def feed_records(self, records: Iterable[tuple[int, bytes]], now: float) -> list[Observation]:
        """Take the next records: (1 for stdout or 2 for stderr, text)."""
        return self.reader.feed(
            b"".join(self._joined(kind == 2, text) for kind, text in records), now
        )

    def finish(self, now: float) -> list[Observation]:
        """Nothing more will come: take what waits for its rest."""
        rest, self.held = self.held.stdout + self.held.stderr, Held(self.held.line)
        return self.reader.feed(rest, now)

    def save(self) -> dict[str, Any]:
        """The state of the reader, and what waits, as plain JSON values."""
        return {**self.reader.save(), SAVED: codec.dump(self.held)}

    def restored(self, state: dict[str, Any] | None) -> ContainerText:
        """With what waited when ``state`` was saved."""
        if state is not None:
            self.held = codec.load_or_new(Held, dict(state.get("reader", {})).get(SAVED))
        return self

    def _record(self, line: bytes) -> bytes:
        """The text that is complete with one line of a json-file; empty for what is no record."""
        try:
            told = json.loads(line)
        except (ValueError, RecursionError):
            return b""
        text = told.get("log") if isinstance(told, dict) else None
        if not isinstance(text, str):
            return b""
        if self.until_ns is not None or not self._begun:
            at = stamp_ns(told.get("time"))
            if at < self.since_ns or (self.until_ns is not None and at >= self.until_ns):
                return b""
            self._begun = True
        return self._joined(told.get("stream") == "stderr", text.encode("utf-8", "replace"))

    def _joined(self, stderr: bool, text: bytes) -> bytes:
        """The text of one stream that is complete with this piece: up to its last line, or update of a
        line."""
        held = self.held
        text = (held.stderr if stderr else held.stdout) + text
        end = len(text)
        if not text.endswith(b"\n"):
            end = max(text.rfind(b"\n"), text.rfind(b"\r")) + 1
            end = end if len(text) - end <= MAX_LINE_BYTES else len(text)
        if stderr:
            held.stderr = text[end:]
        else:
            held.stdout = text[end:]
        return text[:end]
