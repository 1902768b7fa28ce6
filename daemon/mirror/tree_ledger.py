"""What of a mirrored tree is at the destination: one row a file, in a small database of the copier.

A row says that the first ``copied`` bytes of a file are there, and of which file: its inode, size and
time. A look at the tree compares with the rows, a folder at a time, so that memory does not grow with
the tree. Rows of deleted files stay: their copies stay as well, and are known to be ours. Where the
database is lost or damaged, everything there is compared with the tree again, and nothing is copied
twice that is equal.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from typing import NamedTuple

_SCHEMA = """
create table if not exists tree (
    id integer primary key, source text, goal text, loose text, unique (source, goal));
create table if not exists file (
    tree integer, folder blob, name blob, inode integer, size integer, mtime_ns integer,
    copied integer, ends blob, grown integer, primary key (tree, folder, name)) without rowid;
create index if not exists by_inode on file (tree, inode);
create index if not exists unproved on file (tree, mtime_ns) where grown = 2;
"""
_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_COLUMNS = "inode, size, mtime_ns, copied, ends, grown"


class Copied(NamedTuple):
    """What is known of the copy of one file."""

    inode: int
    size: int
    mtime_ns: int
    copied: int
    """Bytes at the destination: ``size``, or fewer where the file has grown since."""
    ends: bytes
    """Digest of the first and last bytes that were copied: a file that grows keeps them."""
    grown: int
    """1: part of it was appended, so it is a log; 2: and nothing has compared it whole since."""

    def is_of(self, info: os.stat_result) -> bool:
        """True if the whole file was copied, as it is now."""
        about = (info.st_ino, info.st_size, info.st_mtime_ns)
        return (self.inode, self.size, self.mtime_ns) == about and self.copied == self.size


class Ledger:
    """The rows. Raises ``sqlite3.Error`` where the disk of the state directory is full."""

    def __init__(self, path: str) -> None:
        """``path``: of the database; made again where it is not one."""
        try:
            self._open(path)
        except sqlite3.DatabaseError:
            self._db.close()
            for end in ("", "-journal"):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path + end)
            self._open(path)

    def _open(self, path: str) -> None:
        self._db = sqlite3.connect(path)
        if path != ":memory:":
            os.chmod(path, 0o600)
        self._db.execute("pragma synchronous = normal")
        self._db.execute("pragma cache_size = -8000")  # KiB
        self._db.execute("pragma journal_mode = truncate")
        self._db.executescript(_SCHEMA)

    def tree(self, source: str, goal: str) -> int:
        """The number of a tree: what is copied, and to where.

        What was not flushed there before a crash of the box is forgotten, so that it is compared.
        """
        found = self._db.execute(
            "select id, loose from tree where source = ? and goal = ?", (_raw(source), _raw(goal))
        ).fetchone()
        if found is None:
            new = "insert into tree (source, goal) values (?, ?)"
            return int(self._db.execute(new, (_raw(source), _raw(goal))).lastrowid or 0)
        number, loose = found
        if loose is not None and loose != _boot_id():
            self._db.execute("delete from file where tree = ?", (number,))
        return int(number)

    def loosen(self, tree: int, *, loose: bool) -> None:
        """Note that copies are not flushed yet, or that all are."""
        mark = _boot_id() if loose else None
        self._db.execute("update tree set loose = ? where id = ?", (mark, tree))

    def get(self, tree: int, name: str) -> Copied | None:
        """The row of a file, by its path inside the tree."""
        row = self._db.execute(
            f"select {_COLUMNS} from file where tree = ? and folder = ? and name = ?",
            (tree, *_split(name)),
        ).fetchone()
        return Copied(*row) if row else None

    def folder(self, tree: int, folder: str) -> dict[str, Copied]:
        """The rows of the files right in a folder, by their names there."""
        rows = self._db.execute(
            f"select name, {_COLUMNS} from file where tree = ? and folder = ?",
            (tree, os.fsencode(folder)),
        )
        return {os.fsdecode(name): Copied(*row) for name, *row in rows}

    def of_inode(self, tree: int, inode: int) -> list[tuple[str, Copied]]:
        """Files that had this inode when they were copied."""
        rows = self._db.execute(
            f"select folder, name, {_COLUMNS} from file where tree = ? and inode = ? limit 8",
            (tree, inode),
        )
        return [(_joined(folder, name), Copied(*row)) for folder, name, *row in rows]

    def unproved(self, tree: int, before_ns: int) -> list[str]:
        """Some files that were copied by their growth, have been quiet since, and were not compared."""
        rows = self._db.execute(
            "select folder, name from file where tree = ? and grown = 2 and mtime_ns < ? limit 50",
            (tree, before_ns),
        )
        return [_joined(folder, name) for folder, name in rows]

    def put(self, tree: int, name: str, row: Copied) -> None:
        """Write the row of a file."""
        self._db.execute(
            "insert or replace into file values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (tree, *_split(name), *row),
        )

    def delete(self, tree: int, name: str) -> None:
        """Forget a file whose copy has another name now."""
        self._db.execute(
            "delete from file where tree = ? and folder = ? and name = ?", (tree, *_split(name))
        )

    def commit(self) -> None:
        """Write down what was said since."""
        self._db.commit()

    def close(self) -> None:
        """Close the database; what was not committed is forgotten."""
        self._db.close()


def _raw(text: str) -> str:
    """A path as SQLite takes it: names need not be UTF-8."""
    return os.fsencode(text).decode("latin-1")


def _split(name: str) -> tuple[bytes, bytes]:
    folder, _, base = os.fsencode(name).rpartition(b"/")
    return folder, base


def _joined(folder: bytes, name: bytes) -> str:
    return os.fsdecode(folder + b"/" + name if folder else name)


def _boot_id() -> str:
    try:
        with open(_BOOT_ID, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return "unknown"
