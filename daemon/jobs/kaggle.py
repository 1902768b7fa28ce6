"""A job for Kaggle: the metadata of a kernel, and the script that starts the command in its session.

The client sends one file of code and nothing else, so the script carries the files that the command needs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from ..system.errors import UsageError
from . import launchers
from .artefact import Artefact, Here
from .job import Job
from .kaggle_runner import runner

HOURS = {"none": 12, "gpu": 12, "tpu": 9}
"""The longest session, in hours, by accelerator: https://www.kaggle.com/docs/notebooks, "technical
specifications", as of November 2026."""
AROUND_S = 300.0
"""Seconds of a session before the script runs and after it has ended: the container comes up, and what was
written is collected. Our choice, since Kaggle names none."""
WORKING = "/kaggle/working"
"""What is written below it outlives the session, up to 20 GB (the same page)."""
SCRIPT = "kernel.py"
METADATA = "kernel-metadata.json"
LONGEST = 50
"""Characters of a title, which Kaggle makes the address of."""


def artefact(job: Job, here: Here) -> Artefact:
    """Metadata and script, and the line of the client. Raises UsageError where something is missing."""
    ours = job.kaggle
    if not ours.owner:
        raise UsageError(
            "a kernel of Kaggle belongs to somebody",
            'owner = "…" under [kaggle]: kaggle config view',
        )
    if job.main.nodes > 1:
        raise UsageError("a session of Kaggle is one machine", "nodes = 1, or another place")
    slug = slug_of(here.name)
    session = session_s(job)
    files = {
        METADATA: json.dumps(_metadata(job, slug), indent=2, ensure_ascii=False) + "\n",
        SCRIPT: runner(
            name=here.name,
            command=launchers.command(job),
            env=job.main.env,
            secrets=job.main.pass_env,
            run_s=max(60, round(session - AROUND_S - job.main.save_before_end_s)),
            save_s=max(1, round(job.main.save_before_end_s)),
            checkpoints=_inside(job.main.checkpoints) or "",
            earlier=ours.kernels,
            files=here.texts,
        ),
    }
    push = ["kaggle", "kernels", "push", "-p", ".", "--timeout", f"{session:.0f}"]
    push += ["--accelerator", ours.machine] if ours.machine else []
    return Artefact("kaggle", (tuple(push),), files, notes=tuple(_notes(job)))


def session_s(job: Job) -> float:
    """Seconds that the session may last: what the job asks for, or as much as Kaggle gives."""
    longest = HOURS[job.kaggle.accelerator] * 3600.0
    return min(job.main.max_time_s or longest, longest)


def slug_of(name: str) -> str:
    """The name as Kaggle makes an address of it; a title has at least five characters."""
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:LONGEST].strip("-")
    return slug if len(slug) >= 5 else f"{slug}-training".strip("-")


def _metadata(job: Job, slug: str) -> dict[str, Any]:
    """https://github.com/Kaggle/kaggle-cli/blob/main/docs/kernels_metadata.md"""
    ours = job.kaggle
    return {
        "id": f"{ours.owner}/{slug}",
        "title": slug,
        "code_file": SCRIPT,
        "language": "python",
        "kernel_type": "script",
        "is_private": not ours.public,
        "enable_gpu": ours.accelerator == "gpu",
        "enable_tpu": ours.accelerator == "tpu",
        "enable_internet": ours.internet,
        "dataset_sources": list(ours.datasets),
        "competition_sources": list(ours.competitions),
        "kernel_sources": list(ours.kernels),
        "model_sources": [],
    }


def _inside(folder: str) -> str | None:
    """The folder below :data:`WORKING`; None where it is not there, or not named."""
    path = PurePosixPath(WORKING, folder)
    if not folder or ".." in path.parts or not path.is_relative_to(WORKING):
        return None
    return str(path.relative_to(WORKING))


def _notes(job: Job) -> Iterator[str]:
    main, ours = job.main, job.kaggle
    _, said = launchers.modern(main.command)
    if said:
        yield said
    hours = HOURS[ours.accelerator]
    if not main.max_time_s or main.max_time_s > hours * 3600:
        asked = (
            f"it may last {main.max_time_s / 3600:g} h" if main.max_time_s else "it has no limit"
        )
        at = session_s(job) - AROUND_S - main.save_before_end_s
        yield (
            f"{asked}, and a session of Kaggle lasts {hours} h at most: SIGTERM comes after "
            f"{at // 3600:.0f} h {at % 3600 / 60:.0f} min, and by then it must have saved; the next session "
            'goes on from there with kernels = ["OWNER/NAME"] under [kaggle]'
        )
    if main.checkpoints and _inside(main.checkpoints) is None:
        yield f"checkpoints lie in {main.checkpoints}, which goes with the session: only {WORKING} stays"
    if not main.checkpoints:
        yield "checkpoints under [job] is not set: a next session is given no saves of this one"
    if main.gpus and ours.accelerator != "gpu":
        yield f"gpus = {main.gpus}, and accelerator under [kaggle] is {ours.accelerator!r}"
    if main.pass_env:
        yield (
            f"{', '.join(main.pass_env)}: the client can hand nothing on; attach it to the kernel on its page "
            "(Add-ons, Secrets), under this name"
        )
