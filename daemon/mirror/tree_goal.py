"""What every place can do that a tree is copied to, and what they share: reading, and the receipt."""

from __future__ import annotations

import json
import os
from typing import Protocol

import xxhash

from ..system import places
from .receipt import MirrorError
from .remote import Work
from .tree import Home

TREE_SCHEMA = "middlewatch/mirror-tree/v1"
MOST_LEFT_OUT = 1000
HEAD, _TAIL = 4 << 10, 64 << 10
"""Bytes at the beginning, and before the end of what was copied, that a file must have kept to count as
grown. Our choice: the header of a database or the first lines of a log, and the newest lines."""
TICK_NS = 20_000_000
"""The clock of a file system goes by the ticks of the kernel: 10 ms at 100 Hz."""


class Gone(Exception):
    """The file is not there any more."""


class NotTaken(Exception):
    """The file is not copied; the text says why."""


class Goal(Protocol):
    """Where the files of one tree go."""

    flush: bool
    left_out: dict[str, str]
    """Files that are not copied, and why."""

    def begin(self, home: Home, source: str) -> Work[None]:
        """Make sure that the place is ours. Raises MirrorError where it is not."""
        ...

    def copy(self, home: Home, names: list[str]) -> Work[list[str]]:
        """Copy these files as they are now; returns those that are to be copied again."""
        ...

    def prove(self, home: Home, name: str) -> Work[None]:
        """Compare a copy that was made by growth with its file."""
        ...

    def sizes(self, folder: str) -> dict[str, int] | None:
        """The sizes of the copies in a folder; ``None`` where that would cost too much."""
        ...

    def settle(self) -> None:
        """Flush what was not flushed."""
        ...


def leave_out(left_out: dict[str, str], name: str, why: NotTaken) -> None:
    """Note that a file is not copied."""
    if len(left_out) < MOST_LEFT_OUT:
        left_out[name] = str(why)


def receipt_of_tree(source: str) -> str:
    """What lies beside the copy of a tree, so that no other tree is copied there."""
    return json.dumps({"schema": TREE_SCHEMA, "source": source, "host": os.uname().nodename})


def check_receipt(text: bytes, source: str, root: str) -> None:
    """Raises MirrorError for a receipt of another tree. ``text``: empty where there is none."""
    if not text:
        return
    try:
        found = json.loads(text)
        other = found["source"] if found["schema"] == TREE_SCHEMA else "something else"
    except (ValueError, RecursionError, KeyError, TypeError):
        other = "something else"
    if other != source:
        raise MirrorError(f"{root} is the copy of {other}, and not of {source}")


def source_file(home: Home, name: str) -> int:
    """Open a file of the tree, following no link. Raises :class:`Gone` and :class:`NotTaken`."""
    try:
        fd = places.open_beneath(home.fd, name)
    except (FileNotFoundError, NotADirectoryError):
        raise Gone from None
    except OSError as error:
        raise NotTaken(f"{name}: {error.strerror}") from None
    try:
        if home.foreign:
            home.check(name, os.fstat(fd))
    except OSError as error:
        os.close(fd)
        raise NotTaken(str(error.strerror)) from None
    return fd


def ends_of(fd: int, size: int) -> bytes:
    """The digest of the first and the last of ``size`` bytes of a file."""
    digest = xxhash.xxh3_128(os.pread(fd, min(HEAD, size), 0))
    digest.update(os.pread(fd, min(_TAIL, size), max(0, size - _TAIL)))
    return digest.digest()


def read_source(fd: int, count: int, at: int) -> bytes:
    """Bytes of the source, whose errors are not those of the destination."""
    try:
        return os.pread(fd, count, at)
    except OSError as error:
        raise NotTaken(f"cannot be read: {error.strerror}") from None
