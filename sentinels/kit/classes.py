"""The closed vocabulary: a row for every class of trouble, with all facts about it.

No other module lists classes. A fact about one class is in its row (:func:`row`); the classes that
share a fact are found by :func:`which`. A class without a row cannot be reported: :func:`row`
raises when the signatures are loaded, when the sentinels are imported, and when a sentinel reports
it. Other programs rely on the names: rows may be added, but none is renamed.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from .findings import Severity


class Group(enum.Enum):
    """What classes are about: (place in the order of causes, title).

    A cause has a smaller number than what follows from it. The order is our choice, and the same
    for all boxes. Groups with the same number are not ordered among themselves.
    """

    HARDWARE = (0, "GPU or board fault")
    MEMORY = (1, "out of memory")
    DISK = (2, "disk")
    SAVE_FAILED = (3, "failed save")
    """A save that a full or broken disk made fail."""
    NOT_FINITE = (4, "NaN")
    LOSS = (5, "loss")
    STOPPED = (6, "stopped")
    LOADER = (7, "loader worker")
    """Before the crashes: the traceback that a killed worker causes is only a consequence."""
    CRASH = (8, "crash")
    INTERRUPTED = (8, "ended by a person")
    SAVE = (8, "found in a save")
    """A save was found to be bad, or to be on storage that does not last. That is no cause of what
    happens to the run, but is reported as well, because a resume must not use that save."""
    FORECAST = (8, "forecast")
    """Is no cause of anything; only the trouble that it predicted explains it."""
    NOT_EXITING = (9, "finished but alive")
    HANG = (10, "hang")
    KILLED = (11, "killed")
    GONE = (12, "silent end")
    STALE = (12, "no checkpoint, or a task that fails each time")
    SLOWED = (13, "slowed")
    SLOW = (14, "slow, or not seen")
    STRANGE = (15, "strange numbers")
    FLAT = (16, "loss that stands still")
    OWN = (17, "rules of your own")
    """Neither explains anything nor is explained: it is told as its person wrote it."""

    def __init__(self, rank: int, title: str) -> None:
        self.rank = rank
        self.title = title

    @property
    def numbers(self) -> bool:
        """True for what the numbers in a log show: loss, gradient, loss scale, learning rate."""
        return self in (Group.NOT_FINITE, Group.LOSS, Group.STRANGE, Group.FLAT)

    @property
    def outside(self) -> bool:
        """True for a trouble of the box, not of the program."""
        return self in _CANNOT_CAUSE

    def can_cause(self, symptom: Group) -> bool:
        """False where no trouble of this group makes one of the other.

        A full disk makes no loss jump, and nothing in the box stops a process (SIGSTOP).
        """
        if symptom is Group.STOPPED:
            return self is Group.STOPPED
        return symptom not in _CANNOT_CAUSE.get(self, ())

    @property
    def ends_hang(self) -> bool:
        """True for a class that shows that a run does not hang, but is gone or broken.

        Such a finding corrects an incident of class ``hang`` at any time, whatever its place in the
        order of causes.
        """
        if self in (Group.KILLED, Group.GONE):
            return True
        still_there = (Group.INTERRUPTED, Group.SAVE, Group.FORECAST)
        return self.rank <= Group.CRASH.rank and not self.numbers and self not in still_there


_NUMBERS = (Group.NOT_FINITE, Group.LOSS, Group.STRANGE, Group.FLAT)
_CANNOT_CAUSE: Mapping[Group, tuple[Group, ...]] = {
    Group.HARDWARE: (Group.MEMORY, Group.DISK),
    Group.MEMORY: (Group.DISK, *_NUMBERS),
    Group.DISK: _NUMBERS,
}
"""Causes outside the program, and what they cannot make. Only a fault of the hardware makes wrong
numbers."""


class Lines(enum.Enum):
    """Which rule uses the log lines about a class. Has no meaning for one without log lines."""

    END = "the rule `crash`: a fatal line may be the reason why the run ended"
    RULE = "another rule, which knows more than the line says"
    NUMBERS = "another rule, which decides by steps and values; lines count in finished logs only"


@dataclass(frozen=True, slots=True)
class TroubleClass:
    """One row of the vocabulary."""

    name: str
    group: Group
    lines: Lines = Lines.END
    severity: Severity = Severity.CRITICAL
    """Severity when it ended the run."""

    part_of: tuple[str, ...] = ()
    """Classes that explain it while its incident or theirs is open, of whatever severity, not only
    when they come close together (slow windows are minutes long). The class itself is among them if
    a repetition belongs to the same trouble."""
    forecasts: tuple[str, ...] = ()
    """Classes that it predicts. When one of them comes, even an hour later, it is the cause, and
    the forecast becomes part of its incident."""
    explains_not: tuple[str, ...] = ()
    """Classes that it cannot cause, whatever the order of causes says."""
    fallout: bool = False
    """A finding of severity warning or info may be a consequence of a critical cause. Without this,
    it is a separate trouble (a disk that fills up, a learning rate of zero)."""
    hardware: bool = False
    """It can cause wrong numbers and bad saves. Other causes outside the program cannot: a full
    disk makes no loss jump."""

    standstill: bool = False
    """The run is alive but makes no progress: a step of the training refutes it."""
    bad_save: bool = False
    """It is about one save, and no reason against a resume: the save to resume from is verified
    again before."""
    spoils_saves: bool = False
    """Saves that are written after it may be worthless even if all their numbers are finite."""
    result_lost: bool = False
    """It is a failure even after the log says that training is done: the result was not saved."""

    collective: bool = False
    """Reported by ranks that wait for another rank, or by a watchdog that repeats the error of its
    GPU: the cause may be elsewhere."""
    side_effect: bool = False
    """It is the cause of the end only when there is no more exact class."""
    teardown: bool = False
    """After the last step it is only noise of a program that shuts down."""

    oom_kill: bool = False
    """The kernel killed a process because memory ran out."""
    notice: bool = False
    """An announcement that the run will be ended."""
    grace: bool = False
    """The run was told from outside to end and may go on for its grace period, as other ranks may:
    a step or two after it do not prove that the run went on."""

    @property
    def rank(self) -> int:
        """Place in the order of causes; causes have smaller numbers."""
        return self.group.rank

    @property
    def numbers(self) -> bool:
        """See :attr:`Group.numbers`."""
        return self.group.numbers


class UnknownClass(ValueError):
    """A class of trouble that has no row."""


_OOM_KILLS = ("cgroup_oom_kill", "host_oom_kill")
_FULL = ("disk_full", "inode_exhausted", "quota_exceeded")
_DISK = (*_FULL, "disk_error", "fs_error", "disk_read_only", "storage_stall")
_NOT_BY_DISK = (
    "process_killed",
    *("cuda_device_assert", "cuda_illegal_access", "cuda_launch_failure", "cuda_unavailable"),
    *("cublas_error", "cudnn_error"),
)
_WRITES = (*_FULL, "ckpt_write_failed")
_NOT_FINITE = ("loss_nan", "loss_inf", "grad_nonfinite")
_SLOWED = ("cpu_throttled", "gpu_slow", "input_starved")

# fmt: off
CLASSES: tuple[TroubleClass, ...] = (
    TroubleClass("gpu_lost", Group.HARDWARE, Lines.RULE, hardware=True),
    TroubleClass("xid", Group.HARDWARE, Lines.RULE, hardware=True),
    TroubleClass("cuda_ecc", Group.HARDWARE, Lines.RULE, hardware=True),
    TroubleClass("nvswitch", Group.HARDWARE, Lines.RULE, hardware=True),
    TroubleClass("mce", Group.HARDWARE, hardware=True),
    TroubleClass("kernel_panic", Group.HARDWARE, hardware=True),

    TroubleClass("cgroup_oom_kill", Group.MEMORY, Lines.RULE, oom_kill=True),
    TroubleClass("host_oom_kill", Group.MEMORY, Lines.RULE, oom_kill=True),
    TroubleClass("cuda_oom", Group.MEMORY, Lines.RULE),
    TroubleClass("accel_oom", Group.MEMORY, Lines.RULE),
    TroubleClass("host_alloc_failed", Group.MEMORY),
    TroubleClass("shm_exhausted", Group.MEMORY, teardown=True),

    TroubleClass("disk_full", Group.DISK, Lines.RULE, explains_not=_NOT_BY_DISK, result_lost=True),
    TroubleClass("inode_exhausted", Group.DISK, Lines.RULE, explains_not=_NOT_BY_DISK, result_lost=True),
    TroubleClass("quota_exceeded", Group.DISK, Lines.RULE, explains_not=_NOT_BY_DISK, result_lost=True),
    TroubleClass("disk_error", Group.DISK, explains_not=_NOT_BY_DISK),
    TroubleClass("fs_error", Group.DISK, explains_not=_NOT_BY_DISK),
    TroubleClass("disk_read_only", Group.DISK, explains_not=_NOT_BY_DISK, result_lost=True),
    TroubleClass("storage_stall", Group.DISK, explains_not=_NOT_BY_DISK, standstill=True),

    TroubleClass("ckpt_write_failed", Group.SAVE_FAILED, Lines.RULE, part_of=_FULL, fallout=True, result_lost=True),

    TroubleClass("loss_nan", Group.NOT_FINITE, Lines.RULE, spoils_saves=True),
    TroubleClass("loss_inf", Group.NOT_FINITE, Lines.RULE, spoils_saves=True),
    TroubleClass("val_loss_nan", Group.NOT_FINITE, Lines.RULE, part_of=_NOT_FINITE, fallout=True, spoils_saves=True),
    TroubleClass("grad_nonfinite", Group.NOT_FINITE, Lines.RULE, part_of=("loss_nan", "loss_inf"), fallout=True, spoils_saves=True),

    TroubleClass("loss_diverged", Group.LOSS, Lines.NUMBERS, spoils_saves=True),
    TroubleClass("loss_spike", Group.LOSS, Lines.NUMBERS, fallout=True),
    TroubleClass("loss_reset", Group.LOSS),
    TroubleClass("loss_scale_exhausted", Group.LOSS, Lines.RULE),
    TroubleClass("lr_zero", Group.LOSS),

    TroubleClass("stopped", Group.STOPPED, standstill=True),

    TroubleClass("dataloader_worker_killed", Group.LOADER, part_of=(*_OOM_KILLS, "shm_exhausted"), fallout=True, teardown=True),

    TroubleClass("python_exception", Group.CRASH, side_effect=True, teardown=True),
    TroubleClass("segfault", Group.CRASH),
    TroubleClass("launch_error", Group.CRASH),
    TroubleClass("nccl_error", Group.CRASH, collective=True, teardown=True),
    TroubleClass("nccl_timeout", Group.CRASH, collective=True, teardown=True),
    TroubleClass("gloo_error", Group.CRASH, collective=True, teardown=True),
    TroubleClass("gloo_timeout", Group.CRASH, collective=True, teardown=True),
    TroubleClass("rendezvous_failed", Group.CRASH),
    TroubleClass("network_error", Group.CRASH, teardown=True),
    TroubleClass("tracker_network_error", Group.CRASH, teardown=True),
    TroubleClass("tracker_write_failed", Group.CRASH, teardown=True),
    TroubleClass("cuda_device_assert", Group.CRASH),
    TroubleClass("cuda_illegal_access", Group.CRASH),
    TroubleClass("cuda_launch_failure", Group.CRASH),
    TroubleClass("cuda_unavailable", Group.CRASH),
    TroubleClass("cublas_error", Group.CRASH),
    TroubleClass("cudnn_error", Group.CRASH),
    TroubleClass("fd_exhausted", Group.CRASH),
    TroubleClass("io_error", Group.CRASH),
    TroubleClass("ckpt_mismatch", Group.CRASH),
    # When a run is ended from outside, a damaged save may be a consequence, but never the cause.
    TroubleClass("ckpt_corrupt", Group.CRASH, Lines.RULE, part_of=_FULL, explains_not=("process_killed", "sigterm_received"), bad_save=True),
    TroubleClass("ckpt_incomplete", Group.CRASH, part_of=_FULL, fallout=True, bad_save=True),
    TroubleClass("preempted", Group.CRASH, notice=True, grace=True),
    TroubleClass("slurm_time_limit", Group.CRASH, notice=True, grace=True),
    TroubleClass("slurm_cancelled", Group.CRASH, notice=True, grace=True),

    TroubleClass("interrupted", Group.INTERRUPTED, severity=Severity.WARNING, fallout=True, teardown=True, grace=True),

    # A weight that is NaN stays NaN: every later save is the same trouble.
    TroubleClass("ckpt_nonfinite", Group.SAVE, part_of=(*_NOT_FINITE, "ckpt_nonfinite"), bad_save=True),
    TroubleClass("ckpt_shrunk", Group.SAVE, part_of=(*_WRITES, "ckpt_shrunk"), bad_save=True),
    TroubleClass("ckpt_not_durable", Group.SAVE),

    TroubleClass("saves_left", Group.FORECAST, forecasts=_WRITES),
    TroubleClass("memory_pressure", Group.FORECAST, forecasts=_OOM_KILLS),
    TroubleClass("walltime_short", Group.FORECAST, forecasts=("slurm_time_limit",)),
    TroubleClass("platform_clock", Group.FORECAST, forecasts=("preempted",)),

    TroubleClass("not_exiting", Group.NOT_EXITING, fallout=True, standstill=True),
    TroubleClass("box_idle", Group.NOT_EXITING),

    TroubleClass("hang", Group.HANG, Lines.NUMBERS, fallout=True, standstill=True),

    TroubleClass("process_killed", Group.KILLED, part_of=_OOM_KILLS, fallout=True, side_effect=True, teardown=True),
    TroubleClass("rank_failed", Group.KILLED, fallout=True, side_effect=True, teardown=True),
    TroubleClass("sigterm_received", Group.KILLED, fallout=True, side_effect=True, teardown=True, grace=True),

    TroubleClass("silent_end", Group.GONE, fallout=True),

    TroubleClass("checkpoint_stale", Group.STALE, part_of=(*_DISK, "ckpt_write_failed", "hang", "stopped"), fallout=True),
    TroubleClass("recurring_error", Group.STALE, part_of=(*_DISK, "ckpt_write_failed", "hang", "stopped"), fallout=True),

    TroubleClass("cpu_throttled", Group.SLOWED),
    # What ends a program cools its GPU: no crash makes a GPU slow, only a fault of the board does.
    TroubleClass("gpu_slow", Group.SLOWED, part_of=("gpu_lost", "xid", "cuda_ecc"), hardware=True),
    TroubleClass("input_starved", Group.SLOWED, part_of=("storage_stall", "dataloader_worker_killed"), fallout=True),

    TroubleClass("throughput_collapse", Group.SLOW, Lines.NUMBERS, part_of=_SLOWED, fallout=True),
    TroubleClass("blind", Group.SLOW, fallout=True),

    TroubleClass("grad_spike", Group.STRANGE, Lines.NUMBERS, fallout=True),
    TroubleClass("overflow_skip", Group.STRANGE, Lines.NUMBERS, part_of=("loss_scale_exhausted",), fallout=True),
    TroubleClass("loss_missing", Group.STRANGE, Lines.NUMBERS, fallout=True),
    TroubleClass("loss_zero", Group.STRANGE, Lines.NUMBERS, fallout=True),

    TroubleClass("loss_constant", Group.FLAT, part_of=("lr_zero",), fallout=True),
    TroubleClass("overfitting", Group.FLAT, fallout=True),
    TroubleClass("loss_plateau", Group.FLAT, part_of=("lr_zero",), fallout=True),

    TroubleClass("own_rule", Group.OWN),
)
# fmt: on
"""Group after group, in the order of causes."""


def _by_name(rows: tuple[TroubleClass, ...]) -> Mapping[str, TroubleClass]:
    """Rows by name. Raises :class:`UnknownClass` when a row refers to a class without a row, and
    ValueError for two rows with the same name."""
    twice = [name for name, count in Counter(r.name for r in rows).items() if count > 1]
    if twice:
        raise ValueError(f"two rows of one name in {__name__}: {', '.join(twice)}")
    known = {r.name: r for r in rows}
    for each in rows:
        for name in (*each.part_of, *each.forecasts, *each.explains_not):
            if name not in known:
                raise _unknown(name, f"the row of {each.name}")
    return MappingProxyType(known)


def _unknown(name: str, who: str) -> UnknownClass:
    of = f" of {who}" if who else ""
    return UnknownClass(f"the class {name!r}{of} has no row in sentinels/kit/classes.py")


ROWS: Mapping[str, TroubleClass] = _by_name(CLASSES)
"""All rows by the name of the class."""


def row(name: str, who: str = "") -> TroubleClass:
    """The row of a class. Raises :class:`UnknownClass`; ``who``: who uses the name, for the
    message."""
    found = ROWS.get(name)
    if found is None:
        raise _unknown(name, who)
    return found


def which(asked: Callable[[TroubleClass], object]) -> frozenset[str]:
    """The names of all classes for whose row ``asked`` is true."""
    return frozenset(each.name for each in CLASSES if asked(each))


COLLECTIVE = which(lambda c: c.collective)
DECIDED_BY_NUMBERS = which(lambda c: c.lines is Lines.NUMBERS)
