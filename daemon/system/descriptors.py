"""The file descriptors of this process: counted, raised to what is allowed, and some kept back.

Many descriptors are held only for speed or convenience, such as that of a process's stat file that is
read once a second. Their owners can do without: they open, read and close at each look. Such an owner
(a :class:`Keeper`) asks here, and is asked to give its descriptor back when others need it. All
others (the socket and its clients, the store, the pipes of children, a log that was deleted) are
*needed*: they are opened without asking, out of a reserve that the kept ones never take.

The limit belongs to the process, so there is one budget: :data:`own`. Used in the main thread.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import threading
from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple, Protocol

LEAST_RESERVE, MOST_RESERVE = 16, 128
"""Descriptors that are kept back: a quarter of the limit within these bounds. A start of a child takes
six for a moment, a path that is opened step by step four, a client one; 64 clients, a dozen children
with three pipes each and the store take 128. Our choice."""
UNLIMITED = 1 << 30
"""Stands for "no limit"; the kernel allows no more anyway (``fs.nr_open``)."""
_FOLDER = "/proc/self/fd"


class Use(IntEnum):
    """What a descriptor is kept for. The least useful are given back first."""

    IDLE_CHILD = 0
    """The pipes of a child that waits for its next question: to start another takes 0.1 s of CPU."""
    CONTROL_GROUP = 1
    """A file of a control group, or of the whole box: a look without it takes 8 µs more (measured)."""
    PROCESS = 2
    """/proc/PID/stat: the same, for each process of a run."""
    QUIET_LOG = 3
    """A log that has not grown for long, and was read to its end."""
    EXIT = 4
    """A pidfd: without it the exit status of a data loader worker may stay unknown."""
    LOG = 5
    """A log that grows: without it the last second before its deletion may be lost."""
    MAIN_EXIT = 6
    """A pidfd of the main process or a rank: how the run ended."""


class Keeper(Protocol):
    """Holds descriptors that it can do without."""

    def give_back(self) -> bool:
        """Close them; ``False`` if they cannot be done without any more, and stay open."""
        ...


class Figures(NamedTuple):
    """How the budget stands, in descriptors; ``without`` in keepers."""

    used: int
    """Open now, kept and needed."""
    limit: int
    kept: int
    """Of ``used``: those that can be given back."""
    reserved: int
    """Free ones that are never given to a keeper."""
    without: tuple[int, ...]
    """By :class:`Use`: how many keepers do without, because there is no room."""

    @property
    def needed(self) -> int:
        """Open, and not to be given back."""
        return self.used - self.kept


def _soft_limit() -> int:
    """As it is now: others may change it at any time (``prlimit``)."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return UNLIMITED if soft == resource.RLIM_INFINITY else soft


def _open_now() -> int | None:
    """Descriptors of this process that are open; ``None`` where they cannot be counted."""
    try:
        # Since Linux 6.2 the size of the folder is their number; before it is 0.
        return os.stat(_FOLDER).st_size or len(os.listdir(_FOLDER)) - 1
    except OSError as error:
        return _soft_limit() if error.errno == errno.EMFILE else None


class Descriptors:
    """The budget of one process. ``limit`` and ``count`` give the limit and what is open now."""

    def __init__(
        self, limit: Callable[[], int] = _soft_limit, count: Callable[[], int | None] = _open_now
    ) -> None:
        self._limit, self._open_now = limit, count
        self._used = 0
        """At the last count, and what was kept since."""
        self._kept: tuple[dict[Keeper, int], ...] = tuple({} for _ in Use)
        self._without: dict[Keeper, Use] = {}
        self._thread = threading.get_ident()
        self._recount()

    @property
    def reserved(self) -> int:
        """Free ones that are never given to a keeper."""
        return self._limit() - self._line()

    def keep(self, keeper: Keeper, use: Use, count: int = 1) -> bool:
        """Whether ``keeper`` may keep the ``count`` descriptors that it has opened.

        Less useful ones are given back for them if that is necessary. If it returns ``False`` the
        keeper closes its own now. Asking again changes what they are kept for.
        """
        if not self._drop(keeper):
            self._used += count
        line = self._line()
        if 2 * self._used > line:  # counting takes 3 µs, and a millisecond before Linux 6.2
            self._recount()
        while self._used > line:
            if not self._give_one(use):
                self._without[keeper] = use
                return False
        self._kept[use][keeper] = count
        self._without.pop(keeper, None)
        return True

    def offer(self, keeper: Keeper, use: Use, count: int) -> None:
        """These descriptors were needed, and can be given back from now on."""
        self._drop(keeper)
        self._kept[use][keeper] = count

    def forget(self, keeper: Keeper) -> None:
        """The keeper has closed its descriptors, or they are needed from now on."""
        self._drop(keeper)
        self._without.pop(keeper, None)

    def has_room(self, use: Use) -> bool:
        """Whether one more could be kept, without opening it."""
        self._recount()
        return self._used < self._line() or any(self._kept[lower] for lower in range(use))

    def make_room(self, count: int, below: Use | None = None) -> bool:
        """Have ``count`` free descriptors: kept ones are given back, all or those less useful than
        ``below``. ``False`` if that is not enough."""
        if threading.get_ident() != self._thread:
            return False
        self._recount()
        limit = self._limit()
        while limit - self._used < count:
            if not self._give_one(len(Use) if below is None else below):
                return False
        return True

    def settle(self) -> None:
        """Give back what the needed ones have taken from the reserve meanwhile; once a second.

        What is kept for more than speed is given back only when half the reserve is gone: a child
        that checks a save is there for half a minute.
        """
        self._recount()
        line = self._line()
        for most, below in ((line, Use.EXIT), (line + self.reserved // 2, len(Use))):
            while self._used > most and self._give_one(below):
                pass

    def open_file(self, path: str, flags: int) -> int:
        """``os.open``; when no descriptor is left, a kept one is given back for it."""
        try:
            return os.open(path, flags)
        except OSError as error:
            if error.errno != errno.EMFILE or not self.make_room(1):
                raise
        return os.open(path, flags)

    def figures(self) -> Figures:
        """How it stands now."""
        self._recount()
        without = [0] * len(Use)
        for use in self._without.values():
            without[use] += 1
        kept = sum(sum(of_use.values()) for of_use in self._kept)
        return Figures(self._used, self._limit(), kept, self.reserved, tuple(without))

    def _line(self) -> int:
        """As many may be open, kept and needed, before keepers have to give back."""
        limit = self._limit()
        return limit - min(MOST_RESERVE, max(LEAST_RESERVE, limit // 4))

    def _recount(self) -> None:
        used = self._open_now()
        if used is not None:
            self._used = used

    def _drop(self, keeper: Keeper) -> bool:
        # One keeper is kept for one use; all are looked at, as it may be another than before.
        return sum(of_use.pop(keeper, 0) for of_use in self._kept) > 0

    def _give_one(self, below: int) -> bool:
        """Have the least useful keeper give back its descriptors, the one of longest standing."""
        for use in Use:
            if use >= below:
                break
            while self._kept[use]:
                keeper = next(iter(self._kept[use]))
                count = self._kept[use].pop(keeper)
                if keeper.give_back():
                    self._used -= count
                    if use is not Use.IDLE_CHILD:  # another is started when there is work
                        self._without[keeper] = use
                    return True
        return False


class Spare:
    """Descriptors that are held for nothing, to be there for what must not fail."""

    def __init__(self) -> None:
        self._fds: list[int] = []

    def hold(self, count: int) -> None:
        """Hold so many, or what can be had of them."""
        with contextlib.suppress(OSError):
            while len(self._fds) < count:
                self._fds.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))

    def give(self) -> None:
        """Hold none: they are there for the next that is opened."""
        while self._fds:
            os.close(self._fds.pop())


def none_left(error: OSError) -> bool:
    """True for an error that says nothing about the file: no descriptor is left, here or on the box."""
    return error.errno in (errno.EMFILE, errno.ENFILE)


own = Descriptors()
"""The budget of this process."""

_before: int | None = None
"""The soft limit with which this process was started, if it was raised."""


def raise_limit() -> None:
    """Allow as many open files as the hard limit does: each run needs about ten, and the usual soft
    limit of 1,024 is for programs that use ``select``."""
    global _before
    with contextlib.suppress(OSError, ValueError):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        _before = soft


def limit_of_children() -> int:
    """The soft limit for a child: the one with which this process was started. Programs that close
    every number below their limit, or use ``select``, are slow or break with a raised one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if _before is None:
        return soft
    return _before if hard == resource.RLIM_INFINITY else min(_before, hard)
