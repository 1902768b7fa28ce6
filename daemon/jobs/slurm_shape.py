"""What differs between the files of one job for Slurm."""

from __future__ import annotations

from dataclasses import dataclass

from .job import Job, Phase


@dataclass(frozen=True)
class Shape:
    """``tasks``: of a node. ``log``: the file of its output, with variables of the shell."""

    name: str
    tasks: int
    log: str
    phase: Phase | None = None

    def by_task(self, job: Job) -> bool:
        """Whether srun writes a file for each rank; torchrun does that itself."""
        return job.slurm.rank_logs and job.main.launcher != "torchrun"
