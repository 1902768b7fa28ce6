"""The folders that a container sees: which path there is which path here."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass

from ..system.errors import UsageError
from .job import Job


@dataclass(frozen=True)
class Mount:
    """``source`` of the machine is ``target`` in the container; both are absolute."""

    source: str
    target: str
    read_only: bool = False


def mounts(job: Job) -> tuple[Mount, ...]:
    """Those of the job, in its order. Raises UsageError for a source that only a shell could expand."""
    return tuple(_mount(job, text) for text in job.main.mounts)


def _mount(job: Job, text: str) -> Mount:
    source, target, *more = text.split(":")
    if source.startswith("~") or "$" in source:
        raise UsageError(
            f"mounts: {source!r} is not expanded, as no shell reads it",
            "name the folder in full, or from the folder of the job file",
        )
    return Mount(
        posixpath.normpath(posixpath.join(job.folder, source)),
        posixpath.normpath(target),
        bool(more),
    )


def holder(job: Job, path: str) -> Mount | None:
    """The mount that shows ``path`` of the container, the innermost; None: it is the container's own."""
    return max(_holding(job, path), key=lambda mount: len(mount.target), default=None)


def _holding(job: Job, path: str) -> Iterator[Mount]:
    return (mount for mount in mounts(job) if _below(path, mount.target))


def outside(job: Job, path: str) -> str:
    """Where an absolute path of the container is on the machine; empty: nowhere."""
    mount = holder(job, path)
    return "" if mount is None else _moved(path, mount.target, mount.source)


def inside(job: Job, path: str) -> str:
    """Where an absolute path of the machine is in the container; empty: nowhere."""
    found = [mount for mount in mounts(job) if _below(path, mount.source)]
    if not found:
        return ""
    mount = max(found, key=lambda one: len(one.source))
    return _moved(path, mount.source, mount.target)


def workdir(job: Job) -> str:
    """Where the command starts, as the container names it; empty: where its image says.

    Raises UsageError for a folder of this machine that no mount shows.
    """
    given = job.main.workdir
    if given.startswith("/"):
        return posixpath.normpath(given)
    there = inside(job, posixpath.normpath(posixpath.join(job.folder, given)))
    if not there and given not in ("", "."):
        raise UsageError(
            f"workdir = {given!r} is in no folder that the container sees",
            'add one to mounts, like ".:/work", or name a folder of the image: workdir = "/work"',
        )
    return there


def checkpoints(job: Job) -> str:
    """Where it saves, as the container names it; empty: it is not known."""
    given = job.main.checkpoints
    if not given or given.startswith("/"):
        return posixpath.normpath(given) if given else ""
    start = workdir(job)
    return posixpath.normpath(posixpath.join(start, given)) if start else ""


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _moved(path: str, old: str, new: str) -> str:
    return posixpath.normpath(posixpath.join(new, posixpath.relpath(path, old)))
