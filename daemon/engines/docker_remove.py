"""Remove containers that are over: each only after its log and what its engine says of it are on disk."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import NamedTuple

from ..system.errors import MiddlewatchError, Refused
from ..system.private import open_private, write_private
from .docker import Container, Driver
from .docker_client import LOG_S
from .docker_state import ContainerState, standing

_PART = ".part"


class Kept(NamedTuple):
    """What is left of a container. ``was_gone``: somebody had removed it before."""

    name: str
    log: str
    status: str
    was_gone: bool = False


def remove(driver: Driver, job_id: str, names: list[str], folder: Path) -> list[Kept]:
    """Save ``NAME.log`` and ``NAME.json`` of each container of a job in ``folder``, then remove it.

    ``names``: of the containers, in the order of the id. Raises Refused while one of them runs, then none
    is touched; and MiddlewatchError where something could not be saved: that container is still there.
    """
    found = list(zip(driver.containers(job_id), names, strict=True))
    living = [one.name for (_, one), _ in found if one is not None and not _may_go(one)]
    if living:
        raise Refused(
            f"not removed, as it is not over: {', '.join(living)}",
            "end it first: middlewatch launch --stop NAME",
        )
    return [_removed(container, one, name, folder) for (container, one), name in found]


def _may_go(one: ContainerState) -> bool:
    return one.is_over or one.status == "created"


def _removed(container: Container, one: ContainerState | None, name: str, folder: Path) -> Kept:
    log, status = folder / f"{name}.log", folder / f"{name}.json"
    if one is None:
        return Kept(name, _if_there(log), _if_there(status), was_gone=True)
    _save_log(container, one, log)
    what, why = standing(one)
    about = {**one.to_json(), "standing": what, "reason": why, "log": log.name}
    _write(status, (json.dumps(about, indent=2, ensure_ascii=False) + "\n").encode())
    _sync(folder)
    # Not --force: the engine refuses if it was started again meanwhile, and then what it prints now is not
    # in the log. Not --volumes: what lies in them is not ours.
    container.client.docker("rm", one.id)
    return Kept(name, str(log), str(status))


def _save_log(container: Container, one: ContainerState, path: Path) -> None:
    part = path.with_name(path.name + _PART)
    try:
        with open(open_private(part, os.O_RDWR | os.O_TRUNC), "r+b") as file:
            container.client.copied(("docker", "logs", one.id), file, LOG_S)
            os.fsync(file.fileno())
        part.replace(path)
    except (OSError, MiddlewatchError) as error:
        said = error.strerror if isinstance(error, OSError) else error
        raise MiddlewatchError(
            f"{one.name} is not removed, as its log could not be saved: {said}",
            f"without it, if nobody needs the log: {container.client.typed('docker', 'rm', one.name)}",
        ) from None


def _write(path: Path, data: bytes) -> None:
    try:
        write_private(path, data)
        with path.open("rb") as file:
            os.fsync(file.fileno())
    except OSError as error:
        raise MiddlewatchError(
            f"nothing is removed, as {path} cannot be written: {error.strerror}",
            "make room, or see whose folder it is",
        ) from None


def _sync(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _if_there(path: Path) -> str:
    return str(path) if path.exists() else ""
