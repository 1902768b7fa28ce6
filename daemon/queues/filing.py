"""The queue file while it changes: cells that were added are picked up, half-written ones are not."""

from __future__ import annotations

import os
from pathlib import Path

from ..system.errors import ConfigError
from .cells import Cell, QueueFile, parse
from .pins import pin
from .places import QueuePlace
from .shards import Shard
from .starting import shown
from .store import QueueStore

SETTLED_S = 1.5
"""Seconds for which the file has to be unchanged: an editor may write it in parts. Our choice."""


def read(path: str) -> QueueFile:
    """The cells of a file. Raises ConfigError."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not a text in UTF-8: {error.reason}") from error
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
    return parse(text, path)


class Filing:
    """Keeps the roster in step with the file."""

    def __init__(self, place: QueuePlace, store: QueueStore) -> None:
        self._place, self._store = place, store
        self._seen: tuple[int, ...] = ()
        self._since = 0.0
        self._read: tuple[int, ...] | None = None
        self._shard = Shard()
        self.cells: dict[str, Cell] = {}
        """The cells of this box by the file as it was last read whole, in its order."""
        self.unsettled = False
        """Whether the file was changed a moment ago, and is to be read again."""

    def turn(self, shard: Shard, *, at_once: bool = False) -> None:
        """Read the file if it has changed and is settled; ``at_once``: as it is now."""
        now = self._store.clock.monotonic()
        mark = self._mark()
        if mark != self._seen:
            self._seen, self._since = mark, now
        wanted = mark != self._read or shard != self._shard
        self.unsettled = wanted and not at_once and now - self._since < SETTLED_S
        if self.unsettled:
            return
        if not wanted:
            if any(not state.digest for state in self._store.roster.named("waiting")):
                self._compare()  # a person has asked for it again
            return
        self._read, self._shard = mark, shard
        try:
            file = read(self._store.roster.file)
        except ConfigError as error:
            self._store.note("note", text=f"{error}: the cells known before hold")
            return
        if not file.cells and self.cells:
            self._store.note("note", text="the file has no cell: the cells known before hold")
            return
        if self._store.roster.notes:
            self._store.note("read")
        self.cells = {cell.name: cell for cell in file.cells if shard.has(cell.name)}
        self._compare()

    def _mark(self) -> tuple[int, ...]:
        try:
            info = os.stat(self._store.roster.file)
        except OSError:
            return ()
        return info.st_ino, info.st_size, info.st_mtime_ns

    def _compare(self) -> None:
        roster = self._store.roster
        for cell in self.cells.values():
            state = roster.cells.get(cell.name)
            if (
                state is None
                or state.standing == "out"
                or (state.standing == "waiting" and state.digest != cell.digest)
            ):
                self._queue(cell)
            elif state.digest != cell.digest and state.last and state.last.digest != cell.digest:
                text = "its line was changed after it was started: what it ran is shown"
                self._store.note("note", cell=cell.name, text=text)
        for state in roster.named("waiting"):
            if state.name not in self.cells:
                how = "its line was taken out, or is another box's"
                self._store.note("out", cell=state.name, how=how)

    def _queue(self, cell: Cell) -> None:
        """Write a cell down, with its scripts as they are now."""
        name, files = pin(cell.words, cell.settings.workdir, self._place.scripts)
        if name and name not in self._store.roster.pins:
            self._store.note("pins", id=name, files=files)
        self._store.note(
            "cell",
            cell=cell.name,
            digest=cell.digest,
            words=shown(cell.words),
            dir=cell.dir,
            line=cell.line,
            pins=name,
        )
