"""A job here: the command as it would be typed, with an end to its time."""

from __future__ import annotations

from . import launchers
from .artefact import Artefact, Here, not_passed
from .job import Job


def artefact(job: Job, here: Here) -> Artefact:
    """``timeout`` (coreutils) ends a run that lasts too long: TERM first, so that it may save."""
    words = launchers.command(job)
    notes = [*not_passed(job, here)]
    _, said = launchers.modern(job.main.command)
    if said:
        notes.append(said)
    if job.main.nodes > 1:
        notes.append("several machines need another place: --on docker, slurm or kubernetes")
    return Artefact("local", (limited(job, words),), notes=tuple(notes))


def limited(job: Job, words: list[str]) -> tuple[str, ...]:
    """The command with its time limit; ``save_before_end_s`` lie between TERM and KILL."""
    main = job.main
    if not main.max_time_s:
        return tuple(words)
    first = max(1.0, main.max_time_s - main.save_before_end_s)
    return (
        "timeout",
        "--signal=TERM",
        f"--kill-after={main.save_before_end_s:.0f}s",
        f"{first:.0f}s",
        *words,
    )
