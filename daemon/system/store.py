"""The store: an SQLite database that records what happened, and that nothing ever waits for.

It holds documents by kind and id. ``put`` keeps the newest version in memory, ``flush`` commits all
changes in one transaction. When the disk is full, the reserve file is deleted to make room. If that
does not help, the documents are written to a file in shared memory, which the next start reads.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import jsonlines
from .private import open_private
from .store_schema import INSERT, migrate

RESERVE_BYTES = 1 << 20
"""Size of the reserve file, which is deleted when the disk is full: room for a few hundred
incidents."""
AT_ONCE = 200
"""Documents read in one go: a few milliseconds. Our choice."""
SPARE_FILES = 3
"""Empty files beside the reserve, deleted with it: a full disk may have no inodes left either, and a
daemon that starts there needs three, for its socket and for the two files beside the database."""


class Store:
    """Documents in the database ``path``; the module says what happens when the disk is full."""

    def __init__(self, path: Path, reserve: Path, fallback_dir: Path = Path("/dev/shm")) -> None:
        self.path = path
        self.reserve = reserve
        self.trouble = ""
        """Why the newest flush failed; empty when all is on disk."""
        digest = hashlib.sha256(os.fsencode(path.absolute())).hexdigest()[:12]
        self.fallback = fallback_dir / f"middlewatch-{os.geteuid()}-{digest}.json"
        self._dirty: dict[tuple[str, str], tuple[float, str]] = {}
        self._gone: set[tuple[str, str]] = set()
        self._db: sqlite3.Connection | None = None
        self._mark: tuple[int, int, int, int] | None = None
        """The file as we left it, by :func:`_mark_of`."""
        self.set_aside = ""
        """The new name of a store that was found damaged; empty if none was."""
        self.lost_in_use = 0
        """How often that was found after the start: the caller has to put again what it knows."""
        self.broken: set[tuple[str, str]] = set()
        """(kind, id) of documents that were met and are no JSON objects."""
        if not self._open() and self._put_aside():
            self._open()
        if self._db is None and self.give_reserve():
            self._open()
        self._take_fallback()
        if self._db is not None:
            self.trouble = ""
            self._keep_reserve()
            self.flush()

    def _open(self) -> bool:
        """Connect, and check the whole file once, so that damage is found now and not later.

        False when it is damaged. For other errors (full disk, permission) it is True, with the
        error in ``trouble``.
        """
        try:
            self._db = self._connect()
            (health,) = self._db.execute("pragma quick_check(1)").fetchone()
            if health == "ok":
                self._mark = _mark_of(self.path)
                return True
            self.trouble, damaged = str(health), True
        except sqlite3.Error as error:
            self.trouble, damaged = str(error), _is_damage(error)
        self._leave()
        return not damaged

    def look(self) -> None:
        """Notice that somebody has deleted, replaced or written into the store that is in use.

        SQLite itself does not for long: what it needs is in its log and in memory. Between two
        commits of ours nobody writes the file, so its inode, size and time of change tell; only
        when they differ it is read, and set aside if it is damaged.
        """
        before, now = self._mark, _mark_of(self.path)
        if self._db is None or before == now:
            return
        self._mark = now
        if before is not None and now is not None and before[:2] == now[:2]:
            if self._sound():
                return
            self._begin_anew()
        else:
            self._leave()
            if now is not None or self.path.parent.is_dir():
                self._open()
        self.lost_in_use += 1

    def _sound(self) -> bool:
        """Whether the file is whole, read by a connection of its own: ours has pages in memory."""
        place = f"{self.path.absolute().as_uri()}?mode=ro"
        try:
            with contextlib.closing(sqlite3.connect(place, uri=True)) as db:
                (health,) = db.execute("pragma quick_check(1)").fetchone()
        except sqlite3.Error as error:
            health = str(error)
            if not _is_damage(error):
                return True
        if health != "ok":
            self.trouble = str(health)
        return bool(health == "ok")

    def _leave(self) -> None:
        if self._db is not None:
            with contextlib.suppress(sqlite3.Error):
                self._db.close()
            self._db = None

    def _begin_anew(self) -> bool:
        """Set a damaged store aside; True when there is another one."""
        self._leave()
        return self._put_aside() and self._open() and self._db is not None

    def _connect(self) -> sqlite3.Connection:
        fresh = not self.path.exists() or self.path.stat().st_size == 0
        if fresh:  # SQLite gives the files beside it the same mode
            with contextlib.suppress(OSError):  # it is told by the attempt to open it
                os.close(open_private(self.path, os.O_RDWR))
        db = sqlite3.connect(self.path, isolation_level=None, timeout=2.0)
        try:
            if fresh:  # only then: it writes, and would fail on a full disk
                db.execute("pragma auto_vacuum=incremental")
            db.execute("pragma journal_mode=wal")
            db.execute("pragma synchronous=normal")
            db.execute("pragma cache_size=-256")
            db.execute("pragma journal_size_limit=1048576")
            migrate(db)
        except sqlite3.Error:
            db.close()
            raise
        return db

    def _put_aside(self) -> bool:
        """Rename a damaged store, so that a new one can be made; True when that worked."""
        number = 1
        while (aside := self.path.with_suffix(f".damaged-{number}")).exists():
            number += 1
        try:
            self.path.replace(aside)
            for suffix in ("-wal", "-shm"):
                with contextlib.suppress(FileNotFoundError):
                    _beside(self.path, suffix).replace(_beside(aside, suffix))
        except OSError as error:
            self.trouble = f"{self.path} is damaged and cannot be set aside: {error.strerror}"
            return False
        self.set_aside = str(aside)
        return True

    def _keep_reserve(self) -> None:
        try:
            whole = self.reserve.exists() and self.reserve.stat().st_size >= RESERVE_BYTES
            if whole and all(spare.exists() for spare in self._spares()):
                return
            fd = open_private(self.reserve, os.O_WRONLY)
            try:
                os.posix_fallocate(fd, 0, RESERVE_BYTES)
            finally:
                os.close(fd)
            for spare in self._spares():
                os.close(open_private(spare, os.O_WRONLY))
        except OSError:
            self.give_reserve()  # no room: do not keep a part of the reserve

    def _take_fallback(self) -> None:
        """Read the documents that could not be committed before; newer ones in the store win."""
        try:
            info = self.fallback.lstat()
            if info.st_uid != os.geteuid() or not stat.S_ISREG(info.st_mode):
                return  # the folder is shared: another user may have put it there
            left = json.loads(self.fallback.read_text(encoding="utf-8"))
            docs = {(str(kind), str(i)): (float(at), doc) for kind, i, at, doc in left}
        except (OSError, ValueError, TypeError):
            return
        for key, (at, doc) in docs.items():
            if doc is None:
                self._gone.add(key)
            elif at >= self._kept_at(*key):
                self._dirty[key] = (at, str(doc))

    def _kept_at(self, kind: str, doc_id: str) -> float:
        row = None
        if self._db is not None:
            with contextlib.suppress(sqlite3.Error):
                row = self._db.execute(
                    "select at from docs where kind = ? and id = ?", (kind, doc_id)
                ).fetchone()
        return -math.inf if row is None else float(row[0])

    def put(self, kind: str, doc_id: str, doc: dict[str, Any], at: float) -> None:
        """Keep ``doc`` as the newest version; it reaches the disk with the next flush."""
        self._gone.discard((kind, doc_id))
        self._dirty[kind, doc_id] = (at, jsonlines.dumps(doc))

    def drop(self, kind: str, doc_id: str) -> None:
        """Delete one document; on disk with the next flush."""
        self._dirty.pop((kind, doc_id), None)
        self._gone.add((kind, doc_id))

    def all(self, kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """(id, document) of one kind, including changes that are not on disk yet.

        Read in parts, so that the caller may do something else in between. What is put meanwhile may
        be among them or not.
        """
        fresh = {i: doc for (k, i), (_, doc) in self._dirty.items() if k == kind}
        for doc_id, doc in self._kept(kind):
            yield from self._read(kind, doc_id, fresh.pop(doc_id, doc))
        for doc_id, doc in fresh.items():
            yield from self._read(kind, doc_id, doc)

    def _read(self, kind: str, doc_id: str, doc: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """One document, if it is still there and can be read."""
        if (kind, doc_id) in self._gone:
            return
        try:
            read = json.loads(doc)
        except (ValueError, TypeError, RecursionError):
            read = None
        if isinstance(read, dict):
            yield doc_id, read
        else:
            self.broken.add((kind, doc_id))

    def put_apart(self, kind: str, doc_id: str) -> None:
        """Keep a document under the kind ``unread KIND``, where nobody looks for it."""
        kept = self._dirty.pop((kind, doc_id), None)
        if kept is not None:
            self._dirty[f"unread {kind}", doc_id] = kept
        change = "update or replace docs set kind = 'unread ' || kind where kind = ? and id = ?"
        with contextlib.suppress(sqlite3.Error):  # a full disk: it is met again at the next start
            if self._db is not None:
                self._db.execute(change, (kind, doc_id))

    def _kept(self, kind: str) -> Iterator[tuple[str, str]]:
        """The documents of one kind in the database, by id."""
        last: str | None = None
        while rows := self._after(kind, last):
            yield from rows
            last = rows[-1][0]

    def _after(self, kind: str, last: str | None) -> list[tuple[str, str]]:
        """The next documents of a kind behind the id ``last``; none if they cannot be read."""
        beyond = "" if last is None else "and id > ?"
        question = f"select id, doc from docs where kind = ? {beyond} order by id limit {AT_ONCE}"
        values = (kind,) if last is None else (kind, last)
        with contextlib.suppress(sqlite3.Error):
            if self._db is not None:
                return self._db.execute(question, values).fetchall()
            # A full disk: even a reader creates files. With ``immutable`` it does not.
            place = f"{self.path.absolute().as_uri()}?mode=ro&immutable=1"
            with contextlib.closing(sqlite3.connect(place, uri=True)) as db:
                return db.execute(question, values).fetchall()
        return []

    def flush(self) -> bool:
        """Commit all changes. False when they are not on disk; ``trouble`` says why."""
        self.look()
        if not self._dirty and not self._gone:
            return not self.trouble
        if self._commit() or (self.give_reserve() and self._commit()):
            self.trouble = ""
            with contextlib.suppress(OSError):
                self.fallback.unlink()
            self._keep_reserve()
            return True
        self._write_fallback()
        return False

    def _commit(self, *, anew: bool = False) -> bool:
        """One transaction; into a new store if this one is damaged, unless it is new (``anew``)."""
        if self._db is None:
            try:
                self._db = self._connect()
            except sqlite3.Error as error:
                self.trouble = str(error)
                return False
        rows = [(kind, i, at, doc) for (kind, i), (at, doc) in self._dirty.items()]
        try:
            self._db.execute("begin immediate")
            self._db.executemany(INSERT, rows)
            self._db.executemany("delete from docs where kind = ? and id = ?", list(self._gone))
            self._db.execute("commit")
        except sqlite3.Error as error:
            self.trouble = str(error)
            with contextlib.suppress(sqlite3.Error):
                if self._db.in_transaction:
                    self._db.execute("rollback")
            if anew or not _is_damage(error):
                return False
            self.lost_in_use += 1
            return self._begin_anew() and self._commit(anew=True)
        self._mark = _mark_of(self.path)
        self._dirty.clear()
        self._gone.clear()
        return True

    def give_reserve(self) -> bool:
        """Delete the reserve to make room; False if there was none, or it cannot be deleted."""
        gone = 0
        for path in (self.reserve, *self._spares()):
            with contextlib.suppress(OSError):
                path.unlink()
                gone += 1
        return gone > 0

    def _spares(self) -> list[Path]:
        return [_beside(self.reserve, f"-{number}") for number in range(1, SPARE_FILES + 1)]

    def _write_fallback(self) -> None:
        """Write the changes to shared memory, atomically, and never into another user's file."""
        rows: list[list[Any]] = [[k, i, at, doc] for (k, i), (at, doc) in self._dirty.items()]
        rows += [[kind, i, 0.0, None] for kind, i in self._gone]
        fresh = _beside(self.fallback, f".{os.getpid()}")
        try:
            fresh.unlink(missing_ok=True)
            fd = open_private(fresh, os.O_WRONLY | os.O_EXCL)
            with os.fdopen(fd, "w", encoding="utf-8") as out:
                json.dump(rows, out)
            fresh.replace(self.fallback)
        except OSError:
            with contextlib.suppress(OSError):
                fresh.unlink()

    def size(self) -> int:
        """Bytes of the store on disk."""
        total = 0
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(OSError):
                total += _beside(self.path, suffix).stat().st_size
        return total

    def trim(self, kinds: tuple[str, ...], keep: int) -> None:
        """Keep the newest ``keep`` documents of each of ``kinds``, and free disk space."""
        if self._db is None:
            return
        for kind in kinds:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute(
                    "delete from docs where kind = ? and id not in"
                    " (select id from docs where kind = ? order by at desc limit ?)",
                    (kind, kind, keep),
                )
        with contextlib.suppress(sqlite3.Error):
            self._db.executescript("pragma incremental_vacuum")  # as a query it frees one page
        self._mark = _mark_of(self.path)

    def close(self) -> None:
        """Flush, and close the database."""
        self.flush()
        self._leave()


def _mark_of(path: Path) -> tuple[int, int, int, int] | None:
    """Device, inode, size and time of change of a file; ``None`` if it is not there."""
    try:
        info = os.stat(path)
    except OSError:
        return None
    return info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns


def _is_damage(error: sqlite3.Error) -> bool:
    return any(word in str(error) for word in ("malformed", "not a database"))


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)
