"""Before a container is started every machine of the job is looked at: its engine answers, the names are
free, the folders are there, nobody listens at the port of the master, the image is there (else it is
pulled)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from ..system.errors import Refused, UsageError
from .docker_client import ASK_S, PULL_S, Client, NotFound

_LISTENS = "0A"
"""State of a listening socket in /proc/net/tcp (include/net/tcp_states.h)."""


def machines(
    clients: Sequence[Client], names: Sequence[str], port: int
) -> list[tuple[Client, list[str], int]]:
    """Each machine once, with the names for its containers, and the port if it is the master."""
    found: dict[str, tuple[Client, list[str], int]] = {}
    for rank, (client, name) in enumerate(zip(clients, names, strict=True)):
        key = "" if client.is_here else client.host
        found.setdefault(key, (client, [], 0 if rank else port))[1].append(name)
    return list(found.values())


def ready(
    client: Client, names: Sequence[str], port: int, facts: Mapping[str, Any]
) -> dict[str, str]:
    """Look whether all can be started on a machine; its image. Raises UsageError and Refused."""
    client.docker("version", "--format", "{{.Server.Version}}")
    _check_names(client, names)
    _check_folders(client, facts["sources"])
    if port:
        _check_port(client, port)
    return _image(client, facts["image"])


def _check_names(client: Client, names: Sequence[str]) -> None:
    taken = [name for name in names if _status(client, name)]
    if taken:
        raise Refused(
            f"there is a container {taken[0]} {client.where} already ({_status(client, taken[0])})",
            f"another --name; or, if nobody needs it: middlewatch launch --remove {names[0]}, or"
            f" {client.typed('docker', 'rm', *taken)}",
        )


def _status(client: Client, name: str) -> str:
    """Of the container of this name; empty: there is none."""
    try:
        words = ("container", "inspect", "--format", "{{.State.Status}}", name)
        return client.docker(*words).strip()
    except NotFound:
        return ""


def _check_folders(client: Client, sources: Sequence[str]) -> None:
    """All are there. An engine that is asked through the network has its folders elsewhere: it says
    itself what is missing."""
    if not sources or (client.is_here and _is_far_engine()):
        return
    script = 'for one; do [ -e "$one" ] || echo "$one"; done'
    missing = client.run(("sh", "-c", script, "sh", *sources), ASK_S).out.splitlines()
    if missing:
        raise UsageError(
            f"there is no {missing[0]} {client.where}, which mounts under [job] names",
            f"{client.typed('mkdir', '-p', *missing)}, or name another folder",
        )


def _is_far_engine() -> bool:
    named = os.environ.get("DOCKER_HOST", "")
    return bool(named) and not named.startswith("unix://")


def _check_port(client: Client, port: int) -> None:
    """The ranks meet at the port of the master, so nobody may listen there yet."""
    table = client.run(("cat", "/proc/net/tcp", "/proc/net/tcp6"), ASK_S).out
    if port in listening(table):
        raise Refused(
            f"port {port} {client.where} is taken: another job would meet this one there",
            "another one: port under [job]",
        )


def listening(table: str) -> set[int]:
    """The ports that somebody listens at, by the text of /proc/net/tcp."""
    found = set()
    for line in table.splitlines():
        columns = line.split()
        if len(columns) > 3 and columns[3] == _LISTENS:
            found.add(int(columns[1].rpartition(":")[2], 16))
    return found


def _image(client: Client, name: str) -> dict[str, str]:
    """Name, id and digest (empty: it comes from no registry) of the image, which is there afterwards."""
    words = ("image", "inspect", "--format", "{{json .Id}} {{json .RepoDigests}}", name)
    done = client.run(("docker", *words), ASK_S)
    if done.status and "No such image" in done.err:
        client.docker("pull", "--quiet", name, deadline_s=PULL_S)
    own, _, digests = client.docker(*words).partition(" ")
    return {"name": name, "id": json.loads(own), "digest": (json.loads(digests) or [""])[0]}
