"""Which trouble is the cause and which the symptom, when several come together.

The order is one for all boxes: GPU fault, killed for memory, disk, NaN, crash, hang, silence,
slow. A cause explains what stands below it; forecasts explain nothing and are explained only
by what they foretold.
"""

from __future__ import annotations

from middlewatch.sentinels.kit import Severity

JOIN_S = 120.0
"""Findings on one run within two minutes of each other are one trouble
(measured policy: symptoms follow their cause within that time)."""

_GPU = frozenset({"gpu_lost", "xid", "cuda_ecc", "nvswitch", "mce", "kernel_panic"})
_KILLED_FOR_MEMORY = frozenset({"cgroup_oom_kill", "host_oom_kill"})
_MEMORY = _KILLED_FOR_MEMORY | {"cuda_oom", "accel_oom", "shm_exhausted"}
_FULL = frozenset({"disk_full", "inode_exhausted", "quota_exceeded"})
_DISK = _FULL | {"disk_error", "fs_error", "storage_stall"}
_SLOWED = frozenset({"cpu_throttled", "gpu_slow", "input_starved"})
_ENDED = frozenset({"process_killed", "rank_failed", "sigterm_received", "silent_end"})

_CAUSES: tuple[frozenset[str], ...] = (
    _GPU,
    _MEMORY,
    _DISK,
    frozenset({"ckpt_write_failed"}),  # what a full or broken disk does to a save
    frozenset({"loss_nan", "loss_inf", "grad_nonfinite", "val_loss_nan"}),
    frozenset({"loss_diverged", "loss_spike", "loss_reset", "loss_scale_exhausted", "lr_zero"}),
    frozenset({"stopped"}),
    frozenset({"dataloader_worker_killed"}),  # its traceback is another exception only
)
_SYMPTOMS: tuple[frozenset[str], ...] = (
    frozenset({"not_exiting"}),
    frozenset({"hang"}),
    frozenset({"process_killed", "rank_failed", "sigterm_received"}),
    frozenset({"silent_end", "checkpoint_stale"}),
    _SLOWED,
    frozenset({"throughput_collapse", "blind"}),
    frozenset({"grad_spike", "overflow_skip", "loss_missing", "loss_zero"}),
    frozenset({"loss_constant", "loss_plateau"}),
)
"""Every other class is a crash and stands between the two."""

FORECASTS = frozenset({"saves_left", "memory_pressure", "walltime_short"})

_SAVED = frozenset({"ckpt_nonfinite", "ckpt_shrunk", "ckpt_not_durable"})
"""What a save is found to be, or where it lies. That explains nothing that happens to the run, and
is told beside what does: a restart must not begin there."""

_FROM_OUTSIDE = frozenset({"process_killed", "sigterm_received"})
"""Ends that a damaged save cannot bring about: it is found beside them, or came of them."""

_LINKED: dict[str, frozenset[str]] = {
    "memory_pressure": _KILLED_FOR_MEMORY,
    "saves_left": _FULL | {"ckpt_write_failed"},
    "walltime_short": frozenset({"slurm_time_limit"}),
    "throughput_collapse": _SLOWED,
    "input_starved": frozenset({"storage_stall", "dataloader_worker_killed"}),
    "checkpoint_stale": _DISK | {"ckpt_write_failed", "hang", "stopped"},
    "dataloader_worker_killed": _KILLED_FOR_MEMORY | {"shm_exhausted"},
    "ckpt_write_failed": _FULL,
    # A weight that is NaN stays NaN: every later save is the same trouble.
    "ckpt_nonfinite": frozenset({"loss_nan", "loss_inf", "grad_nonfinite", "ckpt_nonfinite"}),
    "ckpt_shrunk": _FULL | {"ckpt_write_failed", "ckpt_shrunk"},
    "process_killed": _KILLED_FOR_MEMORY,
    "loss_plateau": frozenset({"lr_zero"}),
    "loss_constant": frozenset({"lr_zero"}),
    "overflow_skip": frozenset({"loss_scale_exhausted"}),
}
"""Symptom -> causes that explain it for as long as one of the two is open, however mild both
are: slow windows are minutes long, and a forecast comes true after an hour."""

_FOLLOWS = frozenset(
    {
        *("blind", "throughput_collapse", "checkpoint_stale", "hang", "not_exiting"),
        *("process_killed", "rank_failed", "sigterm_received", "silent_end", "interrupted"),
        *("grad_spike", "overflow_skip", "loss_missing", "loss_zero", "loss_constant"),
        *("loss_plateau", "loss_spike", "grad_nonfinite", "val_loss_nan", "input_starved"),
        *("gpu_slow", "dataloader_worker_killed", "ckpt_write_failed", "ckpt_incomplete"),
    }
)
"""Classes that, as a warning or a note, may be the fallout of a critical cause. The others
(a disk that fills up, a learning rate of zero) are troubles of their own."""

_HARDWARE = _GPU | {"gpu_slow"}


def cause_rank(trouble: str) -> int:
    """Place in the order of causes; a smaller number is nearer to the root."""
    for rank, classes in enumerate(_CAUSES):
        if trouble in classes:
            return rank
    for rank, classes in enumerate(_SYMPTOMS):
        if trouble in classes:
            return len(_CAUSES) + 1 + rank
    return len(_CAUSES)


def linked(cause: str, symptom: str) -> bool:
    """True where one class explains the other whenever both are open."""
    return cause in _LINKED.get(symptom, ())


def explains(
    cause: str, cause_severity: Severity, symptom: str, severity: Severity, key: str, *, near: bool
) -> bool:
    """True when what is told of ``cause`` tells ``symptom`` too.

    ``near``: they came within :data:`JOIN_S` of each other.
    """
    if linked(cause, symptom):
        return True
    if not near or cause in FORECASTS or symptom in FORECASTS:
        return False
    if cause in _SAVED or (symptom in _SAVED and cause not in _HARDWARE):
        return symptom == cause
    if cause == "ckpt_corrupt" and symptom in _FROM_OUTSIDE:
        return False
    if cause_severity is not Severity.CRITICAL:
        return False
    if severity is Severity.CRITICAL:
        return cause_rank(cause) <= cause_rank(symptom)
    if symptom == "blind" and key.startswith("self:"):
        return False  # a rule of ours is broken: nothing on the box explains that
    if _about_numbers(symptom) and not (_about_numbers(cause) or cause in _HARDWARE):
        return False  # a full disk makes no loss jump
    return symptom == cause or (symptom in _FOLLOWS and cause_rank(cause) < cause_rank(symptom))


def _about_numbers(trouble: str) -> bool:
    """True for what a log's numbers say: the loss, its gradient, its scale, its rate."""
    return trouble.startswith(("loss_", "grad_", "val_loss", "lr_", "overflow"))


def ends_hang(trouble: str) -> bool:
    """True for what shows that a run does not stand still any more but is gone or broken.

    Whatever its place in the order: a hang that was told is corrected by it at any time.
    """
    return trouble in _ENDED or (
        trouble not in FORECASTS
        and trouble not in ("interrupted", "hang")
        and trouble not in _SAVED
        and cause_rank(trouble) <= len(_CAUSES)
        and not _about_numbers(trouble)
    )
