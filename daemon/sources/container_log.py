"""The log of a container: the file of its engine where that can be read, else what the engine sends.

A container that is started again writes on into the same log. What is read here is of one start: no
record is taken after its main process has ended until the engine has said whether, and when, it was
started again.
"""

from __future__ import annotations

import base64
import binascii
import itertools
from collections.abc import Iterable
from typing import Any, Protocol

from middlewatch.sentinels.kit import LogGrowth, Observation

from ..system.errors import Unsupported
from ..system.guard import Guard, Guards
from ..system.inotify import Inotify
from ..system.source import Source, TelemetryLost
from .container_text import ContainerText
from .log_lag import Lag, Level
from .log_tail import BEAT_S, LogTail, TailState

NO_DRIVER_TEXT = ("does not support reading", "not supported")
"""Words of an engine about a driver that keeps nothing (``none``, ``syslog``)."""
_clients = itertools.count()


class Start(Protocol):
    """The start of a container whose log is read (:class:`.container.Container` knows it)."""

    id: str

    @property
    def lives(self) -> bool:
        """Its main process is there."""
        ...

    @property
    def settled(self) -> bool:
        """It lives, or the engine has told of its end."""
        ...

    @property
    def until_ns(self) -> int | None:
        """From when on records are of the next start (ns); ``None``: it has not ended."""
        ...


class JsonFileLog(LogTail):
    """A log of the driver ``json-file``, which is followed like any other file."""

    def __init__(
        self,
        path: str,
        label: str,
        text: ContainerText,
        start: Start,
        inotify: Inotify | None,
        *,
        offset: TailState | None = None,
        guards: Guards | None = None,
    ) -> None:
        super().__init__(path, text, inotify, offset=offset, guards=guards, label=label)
        self._text = text
        self._start = start

    def read(self, now: float) -> Iterable[Observation]:
        """As :meth:`LogTail.read`, unless it may be the next start that writes now."""
        if not self._start.settled:
            return ()
        self._text.until_ns = self._start.until_ns
        said = list(super().read(now))
        if not self._start.lives and not self.more and not self.answers_later:
            said += self._text.finish(now)
        return said


class EngineLog(Source):
    """A log that only the engine can read. ``since_ns``: the start of the container, in nanoseconds."""

    every_s = 1.0
    answers_later = True

    def __init__(
        self,
        label: str,
        text: ContainerText,
        start: Start,
        engine: Guard,
        since_ns: int,
        *,
        tty: bool = False,
        offset: TailState | None = None,
    ) -> None:
        self.name = f"log_tail:{label}"
        self.path = self.label = label
        self.more = False
        self.detail = f"{label} is read through the docker engine"
        self.skipped_bytes = self.left_out_bytes = 0
        self.lag: Lag | None = None
        """The engine does not say how long its log is."""
        self._text, self._start, self._engine, self._tty = text, start, engine, tty
        self._client = f"{next(_clients)}:log:{label}"
        kept = offset or {}
        self._since: int = _whole(kept.get("ns")) or since_ns
        self._count: int = _whole(kept.get("count")) if _whole(kept.get("ns")) else 0
        self._bytes: int = _whole(kept.get("bytes"))
        self.level = Level()
        self._grown_at = 0.0
        self._chunk = 0
        self._begun = self._asked = self._over = False
        self._beat_at = float("-inf")

    @property
    def due_at(self) -> float | None:
        """0 (at once) while there is more to read."""
        return 0.0 if self.more and not self._asked else None

    def stalled(self, now: float) -> str | None:
        """A sentence when the child does not answer; nothing is lost by that."""
        late = self._engine.late_s(self._client)
        return "the docker engine does not answer; reading goes on when it does" if late else None

    def fds(self) -> Iterable[int]:
        """The pipe through which the child answers."""
        fd = self._engine.fileno()
        return () if fd is None else (fd,)

    def ready(self, fd: int, now: float) -> Iterable[Observation]:
        """Take the answer of the child. Raises as :meth:`read`."""
        return self._take(now)

    def read(self, now: float) -> Iterable[Observation]:
        """Ask for what has come. Raises TelemetryLost, and Unsupported where the engine keeps no log."""
        said = self._take(now)
        if self._asked or self._over or not self._start.settled:
            return said
        question: dict[str, Any] = {"do": "log", "id": self._start.id}
        if not self._begun:
            begin = {"since": self._since, "count": self._count, "tty": self._tty}
            question["begin"] = {**begin, "until": self._start.until_ns}
        self._asked = self._engine.ask(self._client, question) or self._asked
        self.level.begin()
        return said

    def state(self) -> TailState:
        """Where reading goes on, and the state of the reader: ``offset`` after a restart."""
        return {
            "ns": self._since,
            "count": self._count,
            "bytes": self._bytes,
            "reader": self._text.save(),
        }

    def close(self) -> None:
        """Ask no more; ``state`` stays valid."""
        self._engine.leave(self._client)

    def _take(self, now: float) -> list[Observation]:
        answer = self._engine.take(self._client)
        if answer is None:
            return []
        self._asked = False
        if "records" not in answer:
            self._begun = False
            self._lost(answer)
            return []
        self._begun = not answer["ended"]
        self.more = bool(answer["more"])
        self.level.end(more=self.more)
        records = [(kind, _bytes(text)) for kind, text in answer["records"]]
        self._since, self._count = answer["place"]["ns"], answer["place"]["count"]
        said = self._text.feed_records(records, now)
        if answer["ended"] and not self._start.lives:
            self._close()
            said += self._text.finish(now)
        count = sum(len(text) for _, text in records)
        beat = not 0 <= now - self._beat_at < BEAT_S
        return [*said, self._growth(count, now)] if count or beat else said

    def _close(self) -> None:
        self._over = True
        self.level.close()

    def _lost(self, answer: dict[str, Any]) -> None:
        """Raises what an answer without records means; a child that is new is asked once more."""
        self.level.end()  # nothing more is to be had now
        for kind in ("late", "absent", "refused", "gone", "error"):
            words = str(answer.get(kind, ""))
            if kind == "gone" and words:
                self._close()
            elif any(part in words for part in NO_DRIVER_TEXT):
                raise Unsupported(f"no log is kept: {words}")
            elif words:
                raise TelemetryLost(words)

    def _growth(self, count: int, now: float) -> LogGrowth:
        if count or not self._grown_at:
            self._bytes += count
            self._grown_at, self._chunk = now, count
        self._beat_at = now
        return LogGrowth(
            at=now,
            file=self.label,
            bytes=self._bytes,
            lines=self._text.lines,
            grown_at=self._grown_at,
            chunk_bytes=self._chunk,
            signs=self._text.signs,
        )


def _whole(value: object) -> int:
    return value if type(value) is int and value >= 0 else 0


def _bytes(text: object) -> bytes:
    try:
        return base64.b64decode(text) if isinstance(text, str) else b""
    except binascii.Error:
        return b""
