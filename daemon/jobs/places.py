"""The places that a job can be started at, by their names on the command line."""

from __future__ import annotations

from importlib import import_module

from ..system.errors import UsageError
from .artefact import Artefact, Here
from .job import Job

PLACES = ("local", "docker", "slurm", "kubernetes", "kaggle")


def render(place: str, job: Job, here: Here) -> Artefact:
    """What ``place`` is given for ``job``. Raises UsageError where something of the job is missing.

    Each place is a module of this package with the function ``artefact``; only the one that is asked
    for is imported.
    """
    if place not in PLACES:
        raise UsageError(f"there is no place {place!r}", f"there are: {', '.join(PLACES)}")
    made: Artefact = import_module(f".{place}", __package__).artefact(job, here)
    return made
