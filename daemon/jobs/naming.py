"""What a run is called that was given no name: MODEL-training-TIME."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from .job import Job

PREEMPTIBLE = "middlewatch.preemptible"
"""Label of a container that may be taken away at any time: ``true``."""
_UNSAFE = re.compile(r"[^a-z0-9.-]+")
LONGEST = 50
"""Characters: a label of Kubernetes has 63, and the place adds some of its own."""


def name_of(job: Job, stamp: str) -> str:
    """Its own name, or one of its model (else its script) and the time.

    ``stamp``: the time, like ``20261127-0304``. Safe for containers, jobs and files: small letters,
    digits, ``-`` and ``.``.
    """
    if job.main.name:
        return safe(job.main.name)
    return f"{safe(job.main.model or _script(job))[: LONGEST - len(stamp) - 10]}-training-{stamp}"


def safe(name: str) -> str:
    """The name with every other character as ``-``."""
    return _UNSAFE.sub("-", name.lower()).strip("-.")[:LONGEST].rstrip("-.") or "run"


def _script(job: Job) -> str:
    for word in job.main.command:
        if word.endswith((".py", ".sh", ".ipynb")):
            return PurePosixPath(word).stem
    return PurePosixPath(job.main.command[0]).name
