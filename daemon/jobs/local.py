"""A job here: the command as it would be typed, with an end to its time."""

from __future__ import annotations

from dataclasses import replace

from . import launchers
from .artefact import Artefact, Here, not_passed
from .job import Job


def artefact(job: Job, here: Here) -> Artefact:
    """``timeout`` (coreutils) ends a run that lasts too long: TERM first, so that it may save. With phases
    there is one command for each."""
    notes = [*not_passed(job, here)]
    _, said = launchers.modern(job.main.command)
    if said:
        notes.append(said)
    if job.main.nodes > 1:
        notes.append("several machines need another place: --on docker, slurm or kubernetes")
    commands = tuple(limited(job, launchers.command(one)) for one in phased(job))
    return Artefact("local", commands, notes=tuple(notes))


def phased(job: Job) -> tuple[Job, ...]:
    """The job of each phase, with its arguments; the job itself where it has no phases."""
    if not job.phases:
        return (job,)
    words = job.main.command
    mains = (replace(job.main, command=(*words, *one.arguments)) for one in job.phases)
    return tuple(replace(job, main=main) for main in mains)


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
