"""What a docker engine says about one container, cut down to what is used; in a child only.

The environment of the container and its labels, where secrets stand, never leave the child; of the labels
only whether :data:`PREEMPTIBLE` says yes.
"""

from __future__ import annotations

from typing import Any

from ..jobs.naming import PREEMPTIBLE
from ..system.clock import SystemClock
from .engine_http import EngineSocket, Failure
from .engine_time import seconds, stamp_ns

EVENTS = ("start", "kill", "oom", "die", "stop", "pause", "unpause", "restart", "destroy")
"""Events that say how a container ended, or stands still."""
MOST_EVENTS = 64
MOST_MOUNTS = 16
LONGEST_TEXT = 512
"""Characters of a path or name: more are cut off."""

Table = dict[str, Any]


def look(engine: EngineSocket, question: Table) -> Table:
    """``{"state": {…}, "asked": ns}`` about a container: :class:`.container_story.Told`.

    ``since`` of the question is ``asked`` of the answer before; without it events come from the
    start of the container on. One that was removed is ``{"gone": WORDS, "events": […]}``. Raises
    :class:`.engine_http.Failure`.
    """
    now = int(SystemClock().now() * 1e9)
    container, since = question["id"], question.get("since")
    try:
        told = _dict(engine.ask(container, "json"))
    except Failure as failure:
        if failure.kind != "gone" or not since:
            raise
        return {"gone": str(failure), "events": _events(engine, container, since, now)}
    config = _dict(told.get("Config"))
    state, host = _dict(told.get("State")), _dict(told.get("HostConfig"))
    policy, log = _dict(host.get("RestartPolicy")), _dict(host.get("LogConfig"))
    started = stamp_ns(state.get("StartedAt"))
    since = since or started
    return {
        "state": {
            "name": _text(told.get("Name")).removeprefix("/"),
            "image": _text(config.get("Image")),
            "pid": _number(state.get("Pid")),
            "status": _text(state.get("Status")),
            "paused": state.get("Paused") is True,
            "oom": state.get("OOMKilled") is True,
            "exit_code": _number(state.get("ExitCode")),
            "error": _text(state.get("Error")),
            "started": started,
            "finished": stamp_ns(state.get("FinishedAt")),
            "restarts": _number(told.get("RestartCount")),
            "policy": _text(policy.get("Name")),
            "retries": _number(policy.get("MaximumRetryCount")),
            "log": _text(told.get("LogPath")),
            "auto_remove": host.get("AutoRemove") is True,
            "driver": _text(log.get("Type")),
            "tty": config.get("Tty") is True,
            "preemptible": _dict(config.get("Labels")).get(PREEMPTIBLE) == "true",
            "memory": _number(host.get("Memory")),
            "mounts": _mounts(told.get("Mounts")),
            "events": _events(engine, container, since, now),
        },
        "asked": now,
    }


def _events(engine: EngineSocket, container: str, since: int, now: int) -> list[list[Any]]:
    """What happened to a container, oldest first."""
    told = engine.events(container, list(EVENTS), seconds(since), seconds(now))
    return [one for event in told if (one := _event(event))][-MOST_EVENTS:]


def _event(event: object) -> list[Any]:
    told = _dict(event)
    action, actor = _text(told.get("Action")), _dict(told.get("Actor"))
    at = _number(told.get("timeNano"))
    if action not in EVENTS or not at:
        return []
    about = _dict(actor.get("Attributes"))
    detail = about.get("exitCode") if action == "die" else about.get("signal")
    return [at, action, _text(detail)]


def _mounts(told: object) -> list[list[str]]:
    """(path in the container, path outside) of its bind mounts and volumes."""
    some = told[:MOST_MOUNTS] if isinstance(told, list) else []
    pairs = ([_text(_dict(m).get("Destination")), _text(_dict(m).get("Source"))] for m in some)
    return [pair for pair in pairs if all(pair)]


def _dict(told: object) -> Table:
    return told if isinstance(told, dict) else {}


def _text(told: object) -> str:
    return told[:LONGEST_TEXT] if isinstance(told, str) else ""


def _number(told: object) -> int:
    return told if type(told) is int and abs(told) < 1 << 63 else 0
