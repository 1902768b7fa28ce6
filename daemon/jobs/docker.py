"""A job in docker: one container on one machine, or one on each of several, as lines for `docker run`.

What the words mean: https://docs.docker.com/reference/cli/docker/container/run/
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..system.errors import UsageError
from . import launchers, local, mounts
from .artefact import Artefact, Here, not_passed, passed
from .job import Job
from .launchers import Meeting
from .naming import PREEMPTIBLE

SHM_BYTES, SHM_BYTES_OF_SEVERAL = 16 << 30, 32 << 30
"""Shared memory of a container on one machine, and on one of several. docker gives 64 MiB, with which the
workers of a data loader die. Nothing is used up before it is written to; both are our choice."""
NAME_LABEL, NODE_LABEL = "middlewatch.launch", "middlewatch.node"
LOOPBACK = frozenset(("localhost", "127.0.0.1", "::1"))
_GIVEN = {
    "--gpus": (),
    "--init": (),
    "--network": ("--net",),
    "--shm-size": (),
    "--cpus": (),
    "--memory": ("-m",),
    "--memory-swap": (),
    "--workdir": ("-w",),
    "--stop-timeout": (),
}
"""What is left out where the words of ``options`` say it, with its other spellings."""
_NOT = {
    "--name": "the name of the run is that of the container: --name of launch, or name under [job]",
    "--rm": "its log and exit status would be gone with it: later, middlewatch launch --remove NAME",
}


class Node(NamedTuple):
    """A machine of the job. ``host``: for ssh, empty: here. ``name``: of its container. ``address``: how the
    others reach it, where that was told."""

    rank: int
    host: str
    name: str
    address: str = ""


def artefact(job: Job, here: Here) -> Artefact:
    """A line for each machine. Raises UsageError where the job lacks something, or contradicts itself.

    ``facts`` tell the driver what is checked before anything is started: ``image``, ``names``,
    ``sources`` (folders that have to be there), ``passed`` (variables whose values are handed over),
    ``port`` (of the master; 0: nothing to check), ``checkpoints`` (where the saves lie on the machine).
    """
    _check(job, here)
    nodes, master = _nodes(job, here)
    saves = mounts.checkpoints(job)
    return Artefact(
        "docker",
        tuple(tuple(_line(job, here, node, master)) for node in nodes),
        hosts=tuple(node.host for node in nodes) if here.hosts else (),
        notes=tuple(_notes(job, here, saves)),
        facts={
            "image": job.docker.image,
            "names": [node.name for node in nodes],
            "sources": list(dict.fromkeys(mount.source for mount in mounts.mounts(job))),
            "passed": list(passed(job, here)),
            "port": job.main.port if len(nodes) > 1 and _network(job) == "host" else 0,
            "checkpoints": mounts.outside(job, saves) if saves else "",
        },
    )


def _check(job: Job, here: Here) -> None:
    if not job.docker.image:
        raise UsageError("docker needs an image", 'image = "…" under [docker] of the job file')
    if job.main.nodes == 1 and len(here.name) < 2:
        raise UsageError(f"docker takes no name of one letter: {here.name!r}", "another --name")
    for flag, why in _NOT.items():
        if _says(job.docker.options, flag):
            raise UsageError(f"options under [docker] cannot have {flag}", why)
    saves = mounts.checkpoints(job)
    mount = mounts.holder(job, saves) if saves else None
    if mount is not None and mount.read_only:
        raise UsageError(
            f"it saves to {saves}, and {mount.target} is mounted to be read only",
            "take :ro away from that mount",
        )


def _nodes(job: Job, here: Here) -> tuple[list[Node], str]:
    """The machines, and how the others reach the first. ``NAME=ADDRESS`` tells the name for ssh and the
    address apart."""
    count, hosts = job.main.nodes, [word.partition("=") for word in here.hosts]
    names = [name for name, _, _ in hosts]
    if count == 1 and len(hosts) < 2:
        return [Node(0, names[0] if names else "", here.name)], ""
    if len(hosts) != count:
        said = f"--hosts names {len(hosts)}" if hosts else "--hosts names none"
        raise UsageError(
            f"nodes = {count}, and {said}",
            "each machine as ssh knows it, the master first: --nodes 2 --hosts gpu1,gpu2",
        )
    master = hosts[0][2] or names[0].rpartition("@")[2]
    if master in LOOPBACK and not LOOPBACK.issuperset(names):
        raise UsageError(
            f"the other machines cannot reach the master as {master}",
            f"with the address that they know it by: --hosts {names[0]}=ADDRESS,…",
        )
    nodes = [
        Node(rank, name, f"{here.name}-{rank}", address)
        for rank, (name, _, address) in enumerate(hosts)
    ]
    return nodes, master


def _line(job: Job, here: Here, node: Node, master: str) -> Iterator[str]:
    meeting = None
    if master:
        port = str(job.main.port)
        meeting = Meeting(str(node.rank), master, port, here.name, node.address)
    yield from ("docker", "run", "--detach", "--name", node.name)
    labels = {**job.labels, NAME_LABEL: here.name, NODE_LABEL: str(node.rank)}
    if job.main.preemptible:
        labels[PREEMPTIBLE] = "true"
    for key, value in labels.items():
        yield from ("--label", f"{key}={value}")
    yield from _resources(job)
    for mount in mounts.mounts(job):
        yield from ("--mount", _mount_word(mount))
    for name, value in _environment(job, node, meeting).items():
        yield from ("--env", f"{name}={value}")
    for name in passed(job, here):
        yield from ("--env", name)  # its value is taken from the environment of the client
    yield from job.docker.options
    yield job.docker.image
    yield from _command(job, meeting)


def _resources(job: Job) -> Iterator[str]:
    main, several = job.main, job.main.nodes > 1
    shm = job.docker.shm_bytes or (SHM_BYTES_OF_SEVERAL if several else SHM_BYTES)
    start = mounts.workdir(job)
    # With an init as the first process orphans are reaped, and a program that does not handle SIGTERM ends
    # by it: the kernel would keep it from the first process of a container.
    wanted: dict[str, tuple[str, ...]] = {"--init": ("--init",)}
    values = {
        "--stop-timeout": f"{math.ceil(main.save_before_end_s)}",
        "--gpus": f"{main.gpus}" if main.gpus else "",
        "--network": _network(job),
        "--shm-size": _size(shm),
        "--cpus": f"{main.cpus}" if main.cpus else "",
        "--memory": _size(main.memory_bytes) if main.memory_bytes else "",
        # No swap beside it: a training that swaps holds its GPUs and does not get on.
        "--memory-swap": _size(main.memory_bytes) if main.memory_bytes else "",
        "--workdir": start,
    }
    wanted |= {flag: (flag, value) for flag, value in values.items() if value}
    for flag, words in wanted.items():
        if not _says(job.docker.options, flag, *_GIVEN[flag]):
            yield from words


def _environment(job: Job, node: Node, meeting: Meeting | None) -> dict[str, str]:
    """Variables with their values; those of the job come before ours."""
    own = {"PYTHONUNBUFFERED": "1"}  # else the last lines of a program that is killed are lost
    if meeting is not None and job.main.launcher == "none":
        own |= {"MASTER_ADDR": meeting.host, "MASTER_PORT": meeting.port}
        own |= {"NNODES": f"{job.main.nodes}", "NODE_RANK": meeting.rank}
        if job.ranks_a_node == 1:  # else the command numbers its processes itself
            own |= {"RANK": meeting.rank, "LOCAL_RANK": "0", "WORLD_SIZE": f"{job.main.nodes}"}
    given = {*job.main.env, *job.main.pass_env}
    return {name: value for name, value in own.items() if name not in given} | dict(job.main.env)


def _command(job: Job, meeting: Meeting | None) -> Iterator[str]:
    words = local.limited(job, launchers.command(job, meeting))
    if words[0] == "timeout":
        # Only the command gets the signal then, once; the others end as the container does.
        words = (words[0], "--foreground", *words[1:])
    yield from words


def _notes(job: Job, here: Here, saves: str) -> Iterator[str]:
    yield from not_passed(job, here)
    _, said = launchers.modern(job.main.command)
    if said:
        yield said
    if saves and not mounts.outside(job, saves):
        yield f"it saves to {saves}, which no mount shows: the saves go when the container is removed"
    names = passed(job, here)
    if names and here.hosts:
        yield (
            f"launch hands over what {', '.join(names)} is here;"
            " who types the lines sets it on each machine first"
        )


def _network(job: Job) -> str:
    return job.docker.network or ("host" if job.main.nodes > 1 else "")


def _says(options: Sequence[str], *flags: str) -> bool:
    return any(word.partition("=")[0] in flags for word in options)


def _mount_word(mount: mounts.Mount) -> str:
    """``--mount``, as ``--volume`` makes an empty folder where the source is missing."""
    words = ["type=bind", f"source={mount.source}", f"target={mount.target}"]
    return ",".join(_csv(word) for word in (*words, *(("readonly",) if mount.read_only else ())))


def _csv(word: str) -> str:
    return '"' + word.replace('"', '""') + '"' if "," in word or '"' in word else word


def _size(size: int) -> str:
    """In the largest unit of docker that needs no fraction: ``16g``."""
    for shift, unit in ((30, "g"), (20, "m"), (10, "k")):
        if size % (1 << shift) == 0:
            return f"{size >> shift}{unit}"
    return f"{size}b"
