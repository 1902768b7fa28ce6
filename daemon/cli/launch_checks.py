"""What is looked at before a job is started and paid for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ..box.audit import look_at_gpus
from ..box.audit_launch import Asked
from ..box.audit_line import AuditLine
from ..box.launch_gate import look
from ..jobs import launchers
from ..jobs.job import Job
from ..launch.checkpoint_args import from_argv
from ..sizing import saves
from ..sizing.model import shaped
from ..sizing.need import KEPT_FREE, need
from ..sizing.optimizers import OPTIMIZERS
from ..sizing.plan import PRECISIONS, SHARDINGS, Plan
from ..system.clock import SystemClock
from ..system.errors import UsageError
from .size import decimal, params_of


def checks(job: Job, place: str) -> list[AuditLine]:
    """All lines for this job. What lies on another machine is looked at by the place, not here."""
    plan = plan_of(job)
    if place != "local":
        return list(_card(job, plan)) if plan else []
    here = Path(job.folder, job.main.workdir)
    command = launchers.command(job)
    folders = (
        [job.main.checkpoints] if job.main.checkpoints else list(from_argv(command, str(here)))
    )
    one = job.needs.save_bytes or (saves.save_of(plan).whole if plan else 0)
    kept = job.needs.saves
    asked = Asked(tuple(command), one if kept else 0, kept)
    found = look(asked, here, [str(here / folder) for folder in folders], os.environ)
    if plan:
        found += _card(job, plan)
    return found


def plan_of(job: Job) -> Plan | None:
    """What is to be trained, for the arithmetic of memory; None where no parameters are named."""
    needs = job.needs
    if not needs.params:
        return None
    for key, value, known in (
        ("optimizer", needs.optimizer, tuple(OPTIMIZERS)),
        ("precision", needs.precision, PRECISIONS),
        ("sharding", needs.sharding, SHARDINGS),
    ):
        if value not in known:
            raise UsageError(
                f"there is no {key} {value!r} under [size]", f"one of {', '.join(known)}"
            )
    return Plan(
        shaped(params_of(needs.params), layers=0, hidden=0, heads=0, vocab=0),
        optimizer=needs.optimizer,
        precision=needs.precision,
        gpus=max(1, job.main.gpus) * job.main.nodes,
        sharding=needs.sharding,
        seq=needs.seq,
        batch=needs.batch,
        checkpointing=needs.checkpointing,
    )


def _card(job: Job, plan: Plan) -> Iterator[AuditLine]:
    """Memory of a GPU against what the model needs, where there is one to be seen."""
    if not job.main.gpus:
        return
    needed = need(plan)
    text = f"{decimal(needed.counted)} counted, {KEPT_FREE:.0%} kept free: a card of {decimal(needed.card)}"
    gpus, _ = look_at_gpus(SystemClock())
    sizes = [gpu.mem_total_bytes for gpu in gpus if gpu.mem_total_bytes]
    if not sizes:
        yield AuditLine("memory of a GPU", "unknown", f"{text}; no card is seen here")
        return
    least = min(sizes)
    state = "ok" if needed.card <= least else "bad"
    yield AuditLine("memory of a GPU", state, f"{text}; this one has {decimal(least)}")
