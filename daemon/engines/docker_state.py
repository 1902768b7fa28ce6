"""What a docker engine says of a container, as the standing of a job. Its environment is never asked for."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from middlewatch.sentinels.kit.numbers import size

from ..system.errors import MiddlewatchError
from .engine import Standing, State

FORMAT = (
    '{"id":{{json .Id}},"name":{{json .Name}},"created":{{json .Created}},"image_id":{{json .Image}},'
    '"image":{{json .Config.Image}},"program":{{json .Path}},"state":{{json .State}},'
    '"restarts":{{json .RestartCount}},"memory":{{json .HostConfig.Memory}},'
    '"stop_s":{{json .Config.StopTimeout}}}'
)
"""For ``docker container inspect --format``: everything that is kept, and no value of a variable."""
EVENTS = ("kill", "stop", "oom")
STOP_S = 10
"""Seconds that ``docker stop`` waits where the container does not say (its documentation)."""
_OVER = frozenset(("exited", "dead"))
_TO_SECONDS = len("2026-11-27T03:04:05")
_TIMED_OUT = 124
"""Exit status of ``timeout`` (coreutils) when the time was over."""
_SAVES = frozenset((signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP, signal.SIGWINCH))
"""Signals that end nothing by themselves as trainers use them."""


@dataclass(frozen=True)
class ContainerState:
    """One container. ``pid``: of its first process on its machine; 0: it has none now."""

    id: str
    name: str
    host: str
    image_id: str
    program: str
    status: str
    exit_code: int | None
    oom_killed: bool
    restarts: int
    error: str
    created_at: str
    started_at: str
    finished_at: str
    memory: int
    stop_s: int
    pid: int
    events: tuple[str, ...] = ()
    """What was done to it by its engine: ``stop``, ``kill 15``, ``oom``."""

    @property
    def is_over(self) -> bool:
        """It ran, and does not now."""
        return self.status in _OVER

    def to_json(self) -> dict[str, Any]:
        """What is kept of it."""
        return {
            "id": self.id,
            "name": self.name,
            "host": self.host,
            "image_id": self.image_id,
            "status": self.status,
            "exit_code": self.exit_code,
            "oom_killed": self.oom_killed,
            "restarts": self.restarts,
            "error": self.error,
            "created_at": self.created_at,
            "started_at": self.started_at,
            "finished_at": self.finished_at,
            "events": list(self.events),
        }


def told(text: str, host: str, events: Iterable[str] = ()) -> ContainerState:
    """From what inspect printed. Raises MiddlewatchError."""
    try:
        data = json.loads(text)
        state: Mapping[str, Any] = data["state"]
        status = str(state["Status"])
        return ContainerState(
            id=str(data["id"]),
            name=str(data["name"]).lstrip("/"),
            host=host,
            image_id=str(data["image_id"]),
            program=str(data["program"]),
            status=status,
            exit_code=int(state["ExitCode"]) if status in _OVER else None,
            oom_killed=bool(state["OOMKilled"]),
            restarts=int(data["restarts"]),
            error=str(state["Error"]),
            created_at=str(data["created"]),
            started_at=str(state["StartedAt"]),
            finished_at=str(state["FinishedAt"]),
            memory=int(data["memory"]),
            stop_s=STOP_S if data["stop_s"] is None else int(data["stop_s"]),
            pid=int(state["Pid"]),
            events=tuple(events),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise MiddlewatchError(
            f"docker says of a container what cannot be read: {error!r}",
            "is the client older than 20.10? docker version",
        ) from None


def time_of_events(one: ContainerState) -> tuple[str, str]:
    """From when to when what ended a container was done to it, by the clock of its engine.

    ``stop`` is told some milliseconds after the end; the client waits until the time has come.
    """
    end = datetime.fromisoformat(one.finished_at[:_TO_SECONDS]) + timedelta(seconds=2)
    return f"{one.started_at[:_TO_SECONDS]}Z", f"{end.isoformat()}Z"


def events_of(lines: str) -> list[str]:
    """The events of ``docker events --format {{json .}}``, oldest first."""
    found = []
    for line in lines.splitlines():
        try:
            data = json.loads(line)
            action, about = str(data["Action"]), data["Actor"]["Attributes"]
        except (KeyError, TypeError, ValueError):
            continue
        if action in EVENTS:
            found.append(f"{action} {about['signal']}" if "signal" in about else action)
    return found


def standing(one: ContainerState) -> tuple[Standing, str]:
    """Of one container, with the reason for a person."""
    if not one.is_over:
        return _living(one)
    code, by = one.exit_code, _ended_by(one.events)
    again = f", started again {one.restarts} times" if one.restarts else ""
    if one.oom_killed and code:
        limit = f" (limit {size(one.memory)})" if one.memory else ""
        return "failed", f"killed because memory ran out: OOMKilled{limit}{again}"
    if code == _TIMED_OUT and one.program == "timeout":
        return "stopped", "its time was over (max_time)"
    if by:
        return "stopped", f"{by}, exit status {code}{again}"
    if code == 0:
        return "finished", f"exit status 0{again}"
    if code == 128 + signal.SIGTERM:
        return "stopped", f"ended by SIGTERM{again}"
    if code == 128 + signal.SIGKILL:
        return "failed", f"ended by SIGKILL, who sent it is not known to docker{again}"
    return "failed", f"exit status {code}{f': {one.error}' if one.error else ''}{again}"


def _living(one: ContainerState) -> tuple[Standing, str]:
    if one.status == "created":
        return ("failed", f"never started: {one.error}") if one.error else ("waiting", "created")
    if one.status in ("running", "paused", "restarting"):
        said = "paused (docker pause)" if one.status == "paused" else one.status
        return "running", f"{said}, started again {one.restarts} times" if one.restarts else said
    return "unknown", one.status


def _ended_by(events: Sequence[str]) -> str:
    """Who ended it through docker, in words; empty: nobody did."""
    if "stop" in events:
        return "ended through docker stop"
    ends = [event.partition(" ")[2] for event in events if event.startswith("kill ")]
    ends = [word for word in ends if not word.isdecimal() or int(word) not in _SAVES]
    return f"ended through docker kill (signal {ends[-1]})" if ends else ""


def together(
    states: Sequence[tuple[str, Standing, str]], containers: Sequence[ContainerState]
) -> State:
    """The standing of a job of several containers: (name, standing, reason) of each.

    One that failed fails the job: the others wait for it until their own time is over.
    """
    names = [name for name, _, _ in states]
    found: dict[Standing, list[tuple[str, str]]] = {}
    for name, what, why in states:
        found.setdefault(what, []).append((name, why))
    order: tuple[Standing, ...] = ("failed", "unknown", "stopped", "waiting", "running", "finished")
    worst = next(what for what in order if what in found)
    said = "; ".join(f"{name}: {why}" if len(names) > 1 else why for name, why in found[worst])
    running = len(found.get("running", ()))
    if running and worst != "running":
        said += f"; {running} of {len(names)} still run"
    codes = [one.exit_code for one in containers if one.exit_code is not None]
    whole = len(codes) == len(states)
    code = next((c for c in codes if c), 0) if codes and (whole or worst == "failed") else None
    return State(worst, said, code, details={"containers": [one.to_json() for one in containers]})
