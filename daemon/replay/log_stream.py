"""One log stream of a finished run: its files, oldest first, read as one text."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..system.errors import UsageError
from .decompress import DamagedLog
from .log_input import LogInput, open_log
from .rank_files import RankFiles

Complain = Callable[[str, UsageError], None]


@dataclass(slots=True)
class StreamFile:
    """A file that has been read, or is being read."""

    file: str
    first: int
    """Number of its first line in the stream."""
    lines: int = 0
    bytes: int = 0
    packing: str = ""
    damage: str = ""


class LogStream:
    """Reads the files of one rank.

    A file that cannot be read is skipped, and ``complain`` is called with its name and the error.
    """

    def __init__(self, files: RankFiles, complain: Complain) -> None:
        self.name = files.name
        self.rank = files.rank
        self.order = files.order
        self.attempt = files.attempt
        self.parts: list[StreamFile] = []
        self._files = files
        self._complain = complain
        self._sizes = [size_of(file) for file in files.parts]
        self._past = 0
        self._source: LogInput | None = None

    @property
    def size(self) -> int:
        """Bytes on disk, as far as they are known."""
        return sum(self._sizes)

    @property
    def taken(self) -> int:
        """Bytes read so far, before unpacking."""
        return self._past + (0 if self._source is None else self._source.taken)

    def chunks(self) -> Iterator[bytes]:
        """The text of all its files in UTF-8."""
        line = 1
        for file, size in zip(self._files.parts, self._sizes, strict=True):
            try:
                source = open_log(file)
            except UsageError as error:
                self._complain(file, error)
                continue
            self._source = source
            part = StreamFile(file, line, packing=source.packing)
            self.parts.append(part)
            try:
                yield from self._read(source, part)
            finally:
                source.close()
                self._past += size
                self._source = None
            line += part.lines

    def _read(self, source: LogInput, part: StreamFile) -> Iterator[bytes]:
        try:
            for chunk in source.chunks():
                part.lines += chunk.count(b"\n")
                part.bytes = source.bytes
                if chunk:
                    yield chunk
        except DamagedLog as damage:
            part.damage = str(damage)
            self._complain(part.file, damage)
        except UsageError as error:
            self.parts.remove(part)
            self._complain(part.file, error)

    def rest(self) -> bytes:
        """The text that is held back; for a reading that is broken off."""
        return b"" if self._source is None else self._source.rest()

    def place(self, line: int) -> tuple[str, int]:
        """(file, line in that file) of a line of the stream, both counted from 1."""
        if not self.parts:
            return self.name, line
        part = self.parts[max(0, bisect_right([p.first for p in self.parts], line) - 1)]
        return part.file, line - part.first + 1


def size_of(file: str) -> int:
    """Bytes of a file on disk; 0 for a pipe, or where there is no file."""
    try:
        return os.stat(file).st_size if file != "-" else 0
    except (OSError, ValueError):
        return 0
