"""Starts the containers of a job through the `docker` client of each machine, asks for them and ends them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ..jobs.artefact import Artefact
from ..system.errors import MiddlewatchError, UsageError
from .docker_client import START_S, Client, Late, NotFound, container_id
from .docker_ready import machines, ready
from .docker_state import (
    EVENTS,
    FORMAT,
    ContainerState,
    events_of,
    standing,
    time_of_events,
    together,
    told,
)
from .engine import Begun, Standing, State

SHORT = 12
"""Digits of an id, as docker shows it."""
UNDO_S = 10
"""Seconds that a container gets to end whose job does not come about (what docker gives if nothing is
said): it has nothing to save yet."""
BESIDE_S = 60.0
"""Seconds for the engine to end a container, beyond the time that the container has (our choice)."""
_THREADS = 16
_T = TypeVar("_T")
_R = TypeVar("_R")


class Container(NamedTuple):
    """One that an id of a job names."""

    client: Client
    id: str


class Driver:
    """See :class:`.engine.Engine`."""

    def missing(self) -> tuple[str, str]:
        """Each machine is asked for its engine when it is known which ones there are: in :meth:`start`."""
        if shutil.which("docker") or shutil.which("ssh") or os.environ.get("RSYNC_RSH"):
            return "", ""
        return (
            "there is no docker client here, and no ssh to reach one elsewhere",
            "apt-get install docker.io, or https://docs.docker.com/engine/install/",
        )

    def start(self, artefact: Artefact, folder: Path) -> Begun:
        """Start all containers, or none. Raises Refused for what is in the way, and MiddlewatchError.

        ``details`` of the answer: ``image`` (name, id, digest) and ``containers`` (rank, name, id, host,
        pid on its machine); ``notes`` for a person.
        """
        facts = artefact.facts
        clients = [Client(host) for host in artefact.hosts or ("",) * len(artefact.commands)]
        names: list[str] = list(facts["names"])
        images = _each(lambda one: ready(*one, facts), machines(clients, names, facts["port"]))
        given = {name: os.environ[name] for name in facts["passed"] if name in os.environ}
        begun: list[tuple[Container, str]] = []
        try:
            for client, name, words in zip(clients, names, artefact.commands, strict=True):
                begun.append((_run(client, name, words, given), name))
            found = _each(lambda one: _ask(one[0]), begun)
        except BaseException as error:
            said = _undone(begun)
            if said and isinstance(error, MiddlewatchError):
                raise MiddlewatchError(
                    f"{error}; {said[0]}", said[1] + _also(error.hint)
                ) from error
            raise
        return _begun(begun, found, images, facts)

    def state(self, job_id: str) -> State:
        """Of all its containers: one that failed fails the job. Raises MiddlewatchError."""
        found: list[ContainerState] = []
        states: list[tuple[str, Standing, str]] = []
        containers = _containers(job_id)
        for container, one in zip(containers, _each(_ask_or_none, containers), strict=True):
            if one is None:
                states.append(
                    (container.id, "unknown", f"no such container {container.client.where}")
                )
                continue
            found.append(one)
            states.append((one.name, *standing(one)))
        return together(states, found)

    def end(self, job_id: str, folder: Path) -> None:
        """``docker stop``: SIGTERM, then the time to save that the container was started with."""
        failed = [error for error in _each(_stop, _containers(job_id)) if error]
        if failed:
            raise MiddlewatchError("; ".join(map(str, failed)), failed[0].hint)

    def containers(self, job_id: str) -> list[tuple[Container, ContainerState | None]]:
        """Each with what its engine says; None: it has it no more. Raises MiddlewatchError."""
        found = _containers(job_id)
        return list(zip(found, _each(_ask_or_none, found), strict=True))


# --------------------------------------------------------------------------------------- the start


def _run(client: Client, name: str, words: Sequence[str], given: Mapping[str, str]) -> Container:
    """Start one. What did not start is removed: it has no log. Raises MiddlewatchError."""
    try:
        done = client.run(words, START_S, given)
        out, failed = done.out, client.failed(done) if done.status else None
    except Late as late:
        out, failed = late.out, late
    own = container_id(out)
    if failed is None and own:
        return Container(client, own)
    why = failed or MiddlewatchError(f"docker printed no id: {out.strip()[:80]!r}")
    left = _cleared(Container(client, own)) if own else ""
    kind = UsageError if isinstance(why, UsageError) else MiddlewatchError
    raise kind(f"{name} did not start: {why}{left}", why.hint)


def _cleared(container: Container) -> str:
    """Take away what a start that failed has left; a sentence if it is still there."""
    try:
        one = _ask(container)
        if one.status == "created":
            container.client.docker("rm", one.id)
            return ""
        container.client.docker("stop", "-t", str(UNDO_S), one.id, deadline_s=UNDO_S + BESIDE_S)
        return f"; it is stopped, and its log is kept: docker logs {one.name}"
    except NotFound:
        return ""
    except MiddlewatchError as error:
        return f"; what it left could not be removed ({error})"


def _undone(begun: Sequence[tuple[Container, str]]) -> tuple[str, str] | None:
    """Stop those that were started; what was done, and what is left to do."""
    if not begun:
        return None
    stopped, kept = [], []
    for container, name in begun:
        client = container.client
        try:
            words = ("stop", "-t", str(UNDO_S), container.id)
            client.docker(*words, deadline_s=UNDO_S + BESIDE_S)
            stopped.append(f"{name} {client.where}")
        except MiddlewatchError as error:
            kept.append(f"{name} {client.where} ({error})")
    said = [f"started before and stopped again: {', '.join(stopped)}"] if stopped else []
    said += [f"started before and STILL RUNNING: {', '.join(kept)}"] if kept else []
    typed = "; ".join(container.client.typed("docker", "rm", name) for container, name in begun)
    return "; ".join(said), f"to use the names again: {typed}"


def _also(hint: str) -> str:
    return f"; {hint}" if hint else ""


def _begun(
    begun: Sequence[tuple[Container, str]],
    found: Sequence[ContainerState],
    images: Sequence[Mapping[str, str]],
    facts: Mapping[str, Any],
) -> Begun:
    notes = []
    if len({image["id"] for image in images}) > 1:
        known = ", ".join(image["id"][:19] for image in images)
        notes.append(f"{facts['image']} is not the same image on all machines: {known}")
    return Begun(
        id=",".join(_written(container) for container, _ in begun),
        look="; ".join(c.client.typed("docker", "logs", "--follow", name) for c, name in begun[:1]),
        end="; ".join(c.client.typed("docker", "stop", name) for c, name in begun),
        details={
            "image": dict(images[0]),
            "containers": [
                {
                    "rank": rank,
                    "name": name,
                    "id": container.id,
                    "host": "" if container.client.is_here else container.client.host,
                    "pid": one.pid,
                }
                for rank, ((container, name), one) in enumerate(zip(begun, found, strict=True))
            ],
            "checkpoints": facts["checkpoints"],
            "notes": notes,
        },
    )


# ---------------------------------------------------------------------------------- after the start


def _written(container: Container) -> str:
    own = container.id[:SHORT]
    return own if container.client.is_here else f"{container.client.host}:{own}"


def _containers(job_id: str) -> list[Container]:
    """Those that an id of :meth:`Driver.start` names: ``ID``, or ``HOST:ID`` elsewhere."""
    parts = (word.rpartition(":") for word in job_id.split(",") if word)
    return [Container(Client(host), own) for host, _, own in parts]


def _ask(container: Container) -> ContainerState:
    """What its engine says of it, with what was done to it once it is over. Raises MiddlewatchError."""
    client = container.client
    text = client.docker("container", "inspect", "--format", FORMAT, container.id)
    one = told(text, "" if client.is_here else client.host)
    if not one.is_over:
        return one
    since, until = time_of_events(one)
    words = ["events", "--since", since, "--until", until, "--format", "{{json .}}"]
    words += [f"--filter=container={one.id}", "--filter=type=container"]
    words += [f"--filter=event={name}" for name in EVENTS]
    return told(text, one.host, events_of(client.docker(*words)))


def _ask_or_none(container: Container) -> ContainerState | None:
    try:
        return _ask(container)
    except NotFound:
        return None


def _stop(container: Container) -> MiddlewatchError | None:
    try:
        one = _ask(container)
        if not one.is_over:
            container.client.docker("stop", one.id, deadline_s=one.stop_s + BESIDE_S)
    except NotFound:
        return None
    except MiddlewatchError as error:
        return error
    return None


def _each(what: Callable[[_T], _R], all_: Sequence[_T]) -> list[_R]:
    """On all machines at once: what one answers late holds up no other. Raises what the first raised."""
    with ThreadPoolExecutor(min(_THREADS, max(1, len(all_)))) as pool:
        return list(pool.map(what, all_))
