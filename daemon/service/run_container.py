"""The container of one run: what its engine tells about it, and its log."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Protocol

from middlewatch.sentinels.kit import Observation

from ..config.run_spec import RunSpec
from ..config.schema import Config
from ..judge.history import RunHistory
from ..launch.containers import prints_there
from ..launch.log_files import NO_LOG
from ..launch.outputs import CONTAINER_LOG
from ..parsers.recurring import LiveReader
from ..sources.container import Container
from ..sources.container_log import EngineLog, JsonFileLog
from ..sources.container_story import Told
from ..sources.container_text import ContainerText
from ..sources.log_tail import TailState
from ..system.clock import Clock, iso
from ..system.guard import Guard, Guards
from ..system.inotify import Inotify
from ..system.pump import Pump, Pumped
from ..system.worker import module_argv
from .run_logs import RunLogs, Tail
from .run_saves import RunSaves

USUAL_SOCKET = "/var/run/docker.sock"
"""Where an engine listens (docs.docker.com, "Configure remote access for Docker daemon")."""
_UNIX = "unix://"
_SPOKEN_FOR = (CONTAINER_LOG, NO_LOG)
"""How notes begin that are over once the log of the container is read."""


def docker_of(config: Config, clock: Clock) -> Guard | None:
    """The child that asks the docker engine of this box; ``None``: it is not to be asked."""
    if not config.watch.docker:
        return None
    named = os.environ.get("DOCKER_HOST", "")
    path = named[len(_UNIX) :] if named.startswith(f"{_UNIX}/") else USUAL_SOCKET
    argv = (*module_argv("middlewatch.daemon.sources.programs.docker"), path)
    return Guard(argv, clock, walls="docker")


class Run(Protocol):
    """What is used here of a :class:`.watched_run.WatchedRun`."""

    spec: RunSpec
    history: RunHistory
    clock: Clock
    guards: Guards | None
    docker: Guard | None
    logs: RunLogs
    saves: RunSaves

    def add_observations(self, seen: Iterable[Observation]) -> None:
        """Take what a source saw."""
        ...


class RunContainer:
    """``saved``: what :meth:`state` gave before a restart of the daemon."""

    def __init__(self, run: Run, saved: Mapping[str, Any] | None) -> None:
        self._run = run
        self._saved = dict(saved or {})
        self.source: Container | None = None
        """Asks the engine; ``None`` for a run in no container, and where no engine is asked."""
        self._inotify: Inotify | None = None
        self._pumped: list[Pumped] = []

    def start(self, pump: Pump, inotify: Inotify) -> None:
        """Ask the engine about the container, if the run is in one."""
        run, spec = self._run, self._run.spec
        if not spec.container or spec.pid is None or run.docker is None:
            return
        main = (spec.pid, spec.start_ticks)
        self._inotify = inotify
        self.source = Container(
            spec.container,
            main,
            run.docker,
            run.clock,
            self._found,
            self._saved,
            born=spec.started_at,
        )
        self._pumped.append(pump.add(self.source, run.add_observations, spec.id))

    def stop(self, pump: Pump) -> None:
        """Ask no more."""
        for pumped in self._pumped:
            pump.remove(pumped)
        self._pumped.clear()

    def state(self) -> dict[str, Any]:
        """What a restarted daemon needs, as plain JSON values."""
        return self.source.state() if self.source is not None else self._saved

    def facts(self) -> dict[str, Any] | None:
        """The container as ``status --json`` shows it; ``None`` for a run in none."""
        spec, seen = self._run.spec, self._run.history.container
        if not spec.container:
            return None
        told = self.source.told if self.source is not None else None
        return {
            "id": spec.container[:12],
            "name": spec.container_name or None,
            "image": told.image if told else None,
            "status": seen.status if seen else None,
            "paused_at": iso(seen.paused_at) if seen else None,
            "ended_by": (seen.ended_by or None) if seen else None,
            "restart_policy": (seen.policy or None) if seen else None,
            "restarts": seen.restarts if seen else None,
            "mounts": [{"path": inside, "host": host} for inside, host in told.mounts]
            if told
            else [],
        }

    def goes_on(self) -> str:
        """A sentence when its engine starts the container again after the end of the run."""
        seen = self._run.history.container
        if seen is None or not (seen.again_at or seen.status == "restarting"):
            return ""
        policy = f", by its restart policy {seen.policy}" if seen.policy else ""
        return f"Docker starts its container {seen.name} again{policy}."

    def _found(self, told: Told) -> None:
        """The engine has told of the container: note its name, and read its log."""
        run = self._run
        run.spec = replace(run.spec, container_name=told.name)
        if run.spec.container_log or self._prints(told):
            label = run.spec.container_log or f"docker:{told.name}"
            run.spec = replace(
                run.spec,
                container_log=label,
                notes=tuple(n for n in run.spec.notes if not n.startswith(_SPOKEN_FOR)),
            )
            run.logs.add(label, lambda reader, state: self._log(label, told, reader, state))
        run.saves.learnt()

    def _prints(self, told: Told) -> bool:
        """True when the run prints to the log of the container, and that is not read elsewhere."""
        run, source = self._run, self.source
        assert source is not None
        prints = prints_there(run.history.pids(), told.pid, errors=not run.spec.logs)
        return bool(source.began.voice) if prints is None else prints

    def _log(self, label: str, told: Told, reader: LiveReader, state: TailState | None) -> Tail:
        """The source of its log: the file of the engine, where that may be read."""
        run, start = self._run, self.source
        assert start is not None
        assert run.docker is not None
        text = ContainerText(reader, start.began.started).restored(state)
        if told.driver == "json-file" and self._readable(told.log):
            return JsonFileLog(
                told.log, label, text, start, self._inotify, offset=state, guards=run.guards
            )
        since = start.began.started
        return EngineLog(label, text, start, run.docker, since, tty=told.tty, offset=state)

    def _readable(self, path: str) -> bool:
        """True for a file of an engine on this box, which we may read; one on a file system that may
        hang is read through the engine."""
        guards = self._run.guards
        named = path.startswith("/") and path.endswith(f"{self._run.spec.container}-json.log")
        near = guards is None or guards.of(path, self._run.clock.now()) is None
        return named and near and os.access(path, os.R_OK)
