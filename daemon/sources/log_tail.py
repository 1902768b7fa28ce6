"""The source of one log: its new text, given to the parsers, and how it grows.

A log on a file system known to be local is read here, by a :class:`.log_follow.Follower`. Any other
is *far*: a child reads it in the same way and sends the text (:mod:`.far_worker`), so that a dead
server stops the child only. The place in the log stays with this source, which moves from one way
to the other, or to another child, without losing or repeating a byte.
"""

from __future__ import annotations

import binascii
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from middlewatch.sentinels.kit import LogGrowth, Observation, codec
from middlewatch.sentinels.kit.numbers import size

from ..system.descriptors import Descriptors, own
from ..system.errors import Unsupported
from ..system.far import SLOW_S, Far
from ..system.guard import Guard, Guards
from ..system.inotify import ChangeHints, Inotify
from ..system.source import Source
from .log_file import FilePosition
from .log_follow import REACH_BYTES, READ_BYTES, Feed, Follower
from .log_lag import LAST_BYTES, LAST_S, Lag, Level
from .log_progress import LogParser, Progress
from .log_reach import reach

__all__ = ["BEAT_S", "REACH_BYTES", "READ_BYTES", "LogParser", "LogTail", "Progress", "TailState"]

BEAT_S = 10.0
"""Seconds after which a LogGrowth is reported in any case (the heartbeat), and missing inotify
watches are tried again."""

REPORTS_AT_ONCE = 300
"""Observations after which one call stops reading: the history and the accumulators need 50 µs for a report
of a step, so that a call takes 20 ms, or a fifth of a second where the daemon gets a tenth of a core."""

TailState = dict[str, Any]
"""What :meth:`LogTail.state` gives: plain JSON values."""

_clients = itertools.count()


class LogTail(Source):
    """One log of a run.

    ``ready`` reads if inotify reported a change of this log, ``read`` in any case. After each
    call, ``due_at`` says whether to call ``read`` before the next heartbeat. ``via``
    (``/proc/PID/fd/N``) is opened instead of ``path`` for a log that was deleted. ``offset`` is
    what ``state`` gave before a restart; the caller restores ``reader`` from its ``reader`` entry.
    With ``from_start=False`` a log that exists at the first read is read from its last line on.
    Without ``guards`` every log counts as local. ``pids``: the processes that may have the log open,
    through which it is reached if it was deleted while it was not kept open here. ``ended_at`` says when
    its run has ended (epoch seconds): then its last lines are read before all others.
    """

    every_s = 1.0
    urgent = True

    def __init__(
        self,
        path: str,
        reader: LogParser,
        inotify: Inotify | None,
        *,
        via: str | None = None,
        offset: TailState | None = None,
        from_start: bool = True,
        guards: Guards | None = None,
        label: str = "",
        pids: Callable[[], Sequence[int]] = tuple,
        budget: Descriptors = own,
        ended_at: Callable[[], float | None] = lambda: None,
    ) -> None:
        self.label = label or path
        """What it is called in observations."""
        self.name = f"log_tail:{self.label}"
        self.path = path
        self.reader = reader
        self.more = False
        """True when a call stopped at ``READ_BYTES``: call ``read`` again soon."""
        self.detail = f"followed through {via}" if via else ""
        """What is special about the file now (deleted, rotated, …), for a person."""
        self.lag = Lag()
        self.level = Level()
        self._ended_at = ended_at
        self._outrun = False
        """A part was left out, and reading was not level since."""
        self._nameless = False
        self._via = via
        self._hints = ChangeHints(inotify, path, by_name=not via)
        self._guards, self._pids, self._budget = guards, pids, budget
        self._far: Far | None = None
        self._guard: Guard | None = None
        self._client = ""
        self._begun = self._asked = False
        """The child follows the log from our place; it has a question that is not answered."""
        self._beat_at = float("-inf")
        self._now = codec.load_or_new(Progress, offset)
        self._from_start = from_start
        self._place = FilePosition.parse(offset or {})
        self._follower = self._follow()

    @property
    def skipped_bytes(self) -> int:
        """Bytes before the offset where reading began; lines are counted from there."""
        return self._now.skipped_bytes

    @property
    def left_out_bytes(self) -> int:
        """Bytes in the middle of the log that were not read: it grew faster than that can be done."""
        return self._now.left_out_bytes

    @property
    def answers_later(self) -> bool:  # type: ignore[override]
        """True for a far log."""
        return self._guard is not None

    @property
    def due_at(self) -> float | None:
        """0 (at once) while there is more to read; ``None``: the heartbeat is enough."""
        return 0.0 if self.more and not self._asked else None

    @property
    def impaired(self) -> str:
        """Not empty while the log is deleted: its content will be lost when its writer ends. And while
        parts of it have to be left out."""
        if self._nameless:
            return self.detail
        left_out = size(self._now.left_out_bytes)
        words = f"it grows faster than it can be read: {left_out} of it were left out so far"
        return words if self._outrun else ""

    def stalled(self, now: float) -> str | None:
        """Which far file system does not answer; nothing is lost by that."""
        if self._guard is None or not self._guard.late_s(self._client):
            return None
        offset = self._place.offset if self._place is not None else 0
        return f"{self._far} does not answer; reading goes on from byte {offset} when it does"

    def fds(self) -> Iterable[int]:
        """The shared inotify descriptor, if there is a watch of this log; for a far log the pipe
        of the child."""
        if self._guard is None:
            return self._hints.fds()
        fd = self._guard.fileno()
        return () if fd is None else (fd,)

    def ready(self, fd: int, now: float) -> Iterable[Observation]:
        """Take the inotify events, and read if one is about this log; take the child's answer."""
        if self._guard is not None:
            return self._take(self._guard, now)
        return self.read(now) if self._hints.collect(now) else ()

    def read(self, now: float) -> Iterable[Observation]:
        """The observations in the new text, and a LogGrowth if the log grew or a heartbeat is due.

        Raises FileNotFoundError, PermissionError, IsADirectoryError or another OSError, or
        Unsupported (pipe, device), when nothing could be read.
        """
        if self._guards is not None:
            far = self._guards.of(self._via or self.path, now)
            if far != self._far:
                self._move(far)
        if self._guard is not None:
            said = self._take(self._guard, now)
            self._ask(self._guard, now)
            return said
        return self._read_here(now)

    def state(self) -> TailState:
        """The position and the state of the reader: ``offset`` after a restart."""
        place = self._place if self._guard is not None else self._follower.place()
        return {
            **(place._asdict() if place else {}),
            **codec.dump(self._now),
            "reader": self.reader.save(),
        }

    def close(self) -> None:
        """Close the file and remove the inotify watches; ``state`` stays valid."""
        self._follower.close()
        self._hints.close()
        if self._guard is not None:
            self._guard.leave(self._client)

    # -- a log that may be touched

    def _follow(self) -> Follower:
        return Follower(
            self.path,
            self._via,
            self._place,
            from_start=self._from_start,
            open_line=self._now.open_line,
            adopted=self._hints.ask,
            released=self._hints.forget_file,
            reach=lambda place: reach(self.path, place, self._pids()),
            budget=self._budget,
        )

    def _read_here(self, now: float) -> Iterable[Observation]:
        self._hints.clear(now)
        self.level.begin()
        beat = self._beat_is_due(now)
        follower = self._follower
        began = self._guards.blocked_s() if self._guards is not None else 0.0
        # At a heartbeat a file is looked into even if it seems unchanged, but none is opened for that.
        if not (beat and follower.wakes) and not self.more and follower.unchanged():
            self._mind_time(began, now)
            self.level.end()
            return (self._beat(now),) if beat else ()
        if beat:
            self._beat_at = now
        said: list[Observation] = []

        def feed(text: bytes) -> None:
            said.extend(self.reader.feed(text, now))

        try:
            self._leave_out(follower, feed, now)
            follower.advance(feed, now, enough=lambda: len(said) >= REPORTS_AT_ONCE)
        except (OSError, Unsupported):
            if not said and not follower.taken:
                raise
            # Return what was read first; the error will be raised at the next read.
        finally:
            self._mind_time(began, now)
            self._note(follower.more, follower.detail, follower.nameless)
            if beat:  # after opening the file, which needs a descriptor more urgently
                self._hints.ask(follower.fd)
        self._now.open_line = follower.open_line
        self._now.skipped_bytes = self._now.skipped_bytes or follower.skipped_bytes
        self._from_start = follower.from_start
        self._note_lag(follower.taken, follower.unread, now)
        if follower.known:
            grown = self._now.note_size(follower.size, now, anew=follower.anew)
            follower.anew = False
            if grown or follower.taken or beat:
                said.append(self._growth(now))
        return said

    def _mind_time(self, began: float, now: float) -> None:
        """After a call that took too long the log is read by a child."""
        if self._guards is not None and self._guards.blocked_s() - began > SLOW_S:
            self._guards.mounts.was_slow(self._via or self.path, now)

    def _beat(self, now: float) -> LogGrowth:
        """The heartbeat of a log that rests."""
        self._beat_at = now
        return self._growth(now)

    # -- a far log

    def _move(self, far: Far | None) -> None:
        """Go on in another way, from the same place."""
        if self._guard is None:
            self._follower.close()
            self._hints.close()
            self._place = self._follower.place()
        else:
            self._guard.leave(self._client)
        self._far, self._guard = far, None
        self._asked = self._begun = False
        if far is not None and self._guards is not None:
            self._guard = self._guards.guard(far, "log")
            self._client = f"{next(_clients)}:{self.path}"
        else:
            self._follower = self._follow()

    def _ask(self, guard: Guard, now: float) -> None:
        question: dict[str, Any] = {"do": "tail", "now": now, "beat": self._beat_is_due(now)}
        keep = self._keep(now)
        if keep is not None and self._begun:
            question["only_last"] = keep
        if not self._begun:
            question["begin"] = {
                "path": self.path,
                "via": self._via,
                "place": None if self._place is None else self._place._asdict(),
                "from_start": self._from_start,
                "open_line": self._now.open_line,
            }
        if not self._asked:
            self.level.begin()
        guard.ask(self._client, question)
        self._asked = True

    def _take(self, guard: Guard, now: float) -> list[Observation]:
        answer = guard.take(self._client)
        if answer is None:
            return []
        self._asked = False
        self._begun = not answer.get("lost")
        if not self._begun or answer.get("same"):
            self.level.end(more=self.more or not self._begun)
            return []
        said: list[Observation] = []
        for text in answer["text"]:
            said.extend(self.reader.feed(binascii.a2b_base64(text), now))
        self._place = FilePosition.parse(answer["place"] or {}) or self._place
        self._now.open_line = answer["open_line"]
        self._now.skipped_bytes = self._now.skipped_bytes or answer["skipped"]
        self._from_start = answer["from_start"]
        self._note(answer["more"], answer["detail"], answer["nameless"])
        if answer["left_out"]:
            self._note_left_out(answer["left_out"])
        self._note_lag(answer["taken"], answer["unread"], now)
        if answer["size"] is not None:
            beat = self._beat_is_due(now)
            grown = self._now.note_size(answer["size"], now, anew=answer["anew"])
            if grown or said or answer["text"] or beat:
                self._beat_at = now if beat else self._beat_at
                said.append(self._growth(now))
        error = answer.get("error")
        if error and not said:
            raise _error(error)
        return said

    # -- how far it is behind

    def _keep(self, now: float) -> int | None:
        """How many bytes of what is unread are still to be read; ``None``: all."""
        ended = self._ended_at()
        if ended is not None and now - ended >= LAST_S and self.lag.bytes > LAST_BYTES:
            return LAST_BYTES
        return REACH_BYTES if self.lag.hopeless(now) else None

    def _leave_out(self, follower: Follower, feed: Feed, now: float) -> None:
        keep = self._keep(now)
        if keep is not None:
            self._note_left_out(follower.leap(feed, keep))

    def _note_left_out(self, left_out: int) -> None:
        self._now.left_out_bytes += left_out
        self._outrun = True
        self.lag.forget()

    def _note_lag(self, taken: int, unread: int, now: float) -> None:
        self.lag.note(taken, unread, now)
        self._now.unread_bytes = unread
        self._outrun = self._outrun and unread > 0

    # -- how it grows

    def _beat_is_due(self, now: float) -> bool:
        return not 0 <= now - self._beat_at < BEAT_S

    def _note(self, more: bool, detail: str, nameless: bool) -> None:
        self.more, self.detail, self._nameless = more, detail, nameless
        self.level.end(more=more)

    def _growth(self, now: float) -> LogGrowth:
        return LogGrowth(
            at=now,
            file=self.label,
            bytes=self._now.size or 0,
            lines=self.reader.lines,
            grown_at=self._now.grown_at,
            chunk_bytes=self._now.chunk_bytes,
            signs=self.reader.signs,
        )


def _error(told: Mapping[str, Any]) -> Exception:
    """The exception that the child met."""
    if told["errno"] is None:
        return Unsupported(told["text"])
    return OSError(told["errno"], told["text"], told["file"])
