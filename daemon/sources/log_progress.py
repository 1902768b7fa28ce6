"""What is known about the reading of one log, and what is needed of its reader."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from middlewatch.sentinels.kit import LineSigns, Observation


@dataclass(slots=True)
class Progress:
    """What is known about the reading of a log, apart from the position in its file."""

    open_line: bool = False
    """The text read last does not end with a newline."""
    skipped_bytes: int = 0
    """Bytes before the offset where reading began; lines are counted from there."""
    size: int | None = None
    grown_at: float = 0.0
    chunk_bytes: int = 0
    """Bytes of the newest growth."""
    left_out_bytes: int = 0
    """Bytes that were left out, because the log grew faster than it can be read."""
    unread_bytes: int = 0
    """Bytes that were not read yet at the newest look."""

    def note_size(self, size: int, now: float, *, anew: bool) -> bool:
        """Note the size of the file; True if it changed since the last read."""
        if anew:
            self.size = 0
        before, self.size = self.size, size
        if before is None:
            self.grown_at = now
        elif size > before:
            self.grown_at = now
            self.chunk_bytes = size - before
        return size != before


class LogParser(Protocol):
    """What a tail needs of a reader (``daemon.parsers.reader.LogReader`` is one)."""

    @property
    def lines(self) -> int:
        """Complete lines so far."""
        ...

    @property
    def signs(self) -> LineSigns | None:
        """What the lines without a report are about; ``None`` when it does not count them."""
        ...

    def feed(self, data: bytes, now: float) -> Iterable[Observation]:
        """Take the next bytes of the stream, cut anywhere."""
        ...

    def save(self) -> dict[str, Any]:
        """Its state as plain JSON values."""
        ...
