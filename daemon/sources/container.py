"""The container of a run, as its docker engine tells it: paused, killed for memory, ended, by whom.

The engine is asked by a child (:mod:`.programs.docker`), because it may hang. What it says is taken for
a run only if the main process of the run is in that container by its control groups, or had ended before
the engine was asked and was started when the container was; and only about that start of the container.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from middlewatch.sentinels.kit import ContainerSeen, Observation, codec

from ..launch.containers import Voice, belongs, voice
from ..system import procfs
from ..system.clock import Clock
from ..system.errors import Unsupported
from ..system.guard import Guard
from ..system.source import Source, TelemetryLost
from .container_story import NAME, Story, Told

LOOK_S = 2.0
"""Seconds between two questions. A look costs the engine 1.5 ms of CPU time (measured, docker 20.10), and
a pause is told after ten seconds."""
WAIT_S = 5.0
"""Seconds after the end of its main process for which an engine is waited for: it notes an end within
some tenths of a second."""
BORN_NS = 3 * 10**9
"""Nanoseconds between the start of a container and that of a program in it, for one that had ended when
the engine was asked: start times come from ``btime``, which is right to a second."""
_clients = itertools.count()


@dataclass(slots=True)
class Began:
    """The start of the container in which the run lives."""

    started: int = 0
    """As the engine tells it, ns; 0: not known yet."""
    pid: int = 0
    ticks: int = 0
    voice: Voice = ""


class Container(Source):
    """One :class:`ContainerSeen` a look. ``found`` is called once, with the first word of the engine.

    ``main``: (pid, start ticks) of the main process of the run, and ``born`` when it was started (epoch
    seconds; 0: not known). ``saved``: what :meth:`state` gave before a restart of the daemon.
    """

    name = "docker"
    every_s = 1.0
    answers_later = True

    def __init__(
        self,
        container: str,
        main: tuple[int, int | None],
        engine: Guard,
        clock: Clock,
        found: Callable[[Told], None],
        saved: Mapping[str, Any] | None = None,
        root: str = procfs.PROC,
        *,
        born: float = 0.0,
    ) -> None:
        self._born = int(born * 1e9)
        self.id = container
        self.told: Told | None = None
        """What the engine has said last."""
        self.seen: ContainerSeen | None = None
        self.began = codec.load_or_new(Began, saved)
        self._main, self._engine, self._clock, self._root = main, engine, clock, root
        self._found = found
        self._story = Story(self.began.started)
        self._client = f"{next(_clients)}:look"
        self._asked = self._lost = self._removed = self._refused = False
        self._late = ""
        self._since: int | None = None
        self._due = 0.0
        self._gone_at: float | None = None

    # -- what others ask it ----------------------------------------------------------------

    @property
    def lives(self) -> bool:
        """Its first process is there, of the start in which the run lives."""
        began = self.began
        return bool(began.pid) and procfs.start_ticks(began.pid, self._root) == began.ticks

    @property
    def settled(self) -> bool:
        """It lives, or its engine has told up to when its log is its own, or does not tell in time."""
        if self.lives:
            self._gone_at = None
            return True
        if self._gone_at is None:
            self._gone_at = self._clock.monotonic()
        known = self._story.until is not None
        return known or self._clock.monotonic() - self._gone_at > WAIT_S

    @property
    def until_ns(self) -> int | None:
        """From when on its log is of the next start (ns); ``None``: it has not ended."""
        return self._story.until

    @property
    def awaited(self) -> bool:
        """True while its engine may still say how the main process of the run has ended."""
        unknown = not self.began.started and not self._refused
        return (bool(self.began.voice) or unknown) and not (self._story.died or self._lost)

    def exit_code(self) -> int | None:
        """The exit status of the main process of the run, as far as that of the container tells it."""
        code = self._story.exit_code
        return None if not self.began.voice or (self.began.voice == "shell" and not code) else code

    def state(self) -> dict[str, Any]:
        """Which start it is, as plain JSON values."""
        saved: dict[str, Any] = codec.dump(self.began)
        return saved

    # -- Source ----------------------------------------------------------------------------

    def stalled(self, now: float) -> str | None:
        """A sentence when the engine does not answer."""
        late = self._engine.late_s(self._client)
        return self._late or ("the docker engine does not answer" if late else None)

    def fds(self) -> Iterable[int]:
        """The pipe through which the child answers."""
        fd = self._engine.fileno()
        return () if fd is None else (fd,)

    def ready(self, fd: int, now: float) -> Iterable[Observation]:
        """Take the answer. Raises as :meth:`read`."""
        return self._take(now)

    def read(self, now: float) -> Iterable[Observation]:
        """Ask how the container is, if it is time.

        Raises Unsupported where there is no engine, none that we may ask, or none that knows the
        container; TelemetryLost when one that has answered before does not tell.
        """
        said = self._take(now)
        mono = self._clock.monotonic()
        hurry = not self.settled
        if not self._asked and not self._removed and (hurry or mono >= self._due):
            question: dict[str, Any] = {"do": "look", "id": self.id}
            since = self._since or self.began.started or self._born - BORN_NS
            if since > 0:
                question["since"] = since
            self._asked = self._engine.ask(self._client, question)
            self._due = mono + LOOK_S
        return said

    def close(self) -> None:
        """Ask no more."""
        self._engine.leave(self._client)

    # -- answers ---------------------------------------------------------------------------

    def _take(self, now: float) -> list[Observation]:
        answer = self._engine.take(self._client)
        if answer is None:
            return []
        self._asked = False
        self._late = str(answer.get("late", ""))
        self._lost = "state" not in answer and "later" not in answer
        if "state" in answer:
            return self._look(answer, now)
        if "gone" in answer:
            return self._is_gone(answer, now)
        for kind in ("absent", "refused", "error"):
            if kind in answer and not self.began.started:
                raise Unsupported(str(answer[kind]))
            if kind in answer:
                raise TelemetryLost(str(answer[kind]))
        return []

    def _look(self, answer: Mapping[str, Any], now: float) -> list[Observation]:
        try:
            told = codec.load(Told, answer["state"])
        except codec.Unfit as error:
            raise TelemetryLost(f"what its docker engine tells cannot be read: {error}") from None
        if not NAME.fullmatch(told.name):
            told = replace(told, name=self.id[:12])
        if not self.began.started:
            self._begin(told)
        first, self.told = self.told is None, told
        self._since = answer["asked"]
        self._story.add(told.events)
        self._story.note(told, answer["asked"])
        if first:
            self._found(told)
        self.seen = self._story.seen(now, told)
        return [self.seen]

    def _begin(self, told: Told) -> None:
        """Take this start for that of the run. Raises Unsupported if the run is not in it."""
        self._refused = True
        pid, ticks = self._main
        there = procfs.start_ticks(pid, self._root)
        if there is None or ticks not in (None, there):
            self.began = Began(_start_at(told, self._born), voice="shell")
            if not self.began.started:
                raise Unsupported("it had ended before the docker engine was asked about it")
        else:
            first = procfs.start_ticks(told.pid, self._root) if told.pid else None
            if first is None or not belongs(pid, told.pid, self.id, self._root):
                name = self.id[:12]
                raise Unsupported(f"it is not in the container {name} that its control group names")
            said = voice(pid, told.pid, self._root)
            self.began = Began(told.started, told.pid, first, said)
        self._story = Story(self.began.started)

    def _is_gone(self, answer: Mapping[str, Any], now: float) -> list[Observation]:
        """The engine has no such container: it was removed, or is that of another engine."""
        if not self.began.started:
            raise Unsupported(str(answer["gone"]))
        self._removed = True
        told = self.told or Told(self.id[:12])
        with suppress(codec.Unfit):
            last = {"name": told.name, "events": answer.get("events", ())}
            self._story.add(codec.load(Told, last).events)
        self._story.removed(int(now * 1e9))
        self.seen = self._story.seen(now, replace(told, status="removed", policy=""))
        return [self.seen]


def _start_at(told: Told, born: int) -> int:
    """The start of the container at about ``born`` (ns); 0: there was none. For a process that is gone,
    so that its control groups can no longer show where it was."""
    if abs(told.started - born) <= BORN_NS:
        return told.started
    for number, (at, action, _) in enumerate(told.events):
        if action == "start" and abs(at - born) <= BORN_NS:
            ends = [when + 1 for when, what, _ in told.events[:number] if what == "die"]
            return max(
                [at - BORN_NS, *ends]
            )  # its state had the time, some tenths of a second before
    return 0
