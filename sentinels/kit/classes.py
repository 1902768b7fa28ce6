"""The closed vocabulary: one row for every class of trouble, and all that is known of it.

Nobody else lists classes. Who wants to know something of one asks its row (:func:`row`), or
takes the set of all that share it (:func:`which`). A class that has no row here cannot be told:
:func:`row` raises when the signatures are loaded, when the sentinels are found and when one
speaks. Other programs rely on the names: rows may come, none is renamed.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from .findings import Severity


class Group(enum.Enum):
    """What a class is about: (place in the order of causes, title).

    The order is one for all boxes (our choice): a cause has a smaller number than what follows
    from it. Groups with the same number come neither before nor after each other.
    """

    HARDWARE = (0, "GPU or board fault")
    MEMORY = (1, "out of memory")
    DISK = (2, "disk")
    SAVE_FAILED = (3, "failed save")
    """What a full or broken disk does to a save."""
    NOT_FINITE = (4, "NaN")
    LOSS = (5, "loss")
    STOPPED = (6, "stopped")
    LOADER = (7, "loader worker")
    """Its traceback is another exception only."""
    CRASH = (8, "crash")
    INTERRUPTED = (8, "ended by a person")
    SAVE = (8, "found in a save")
    """What a save is found to be, or where it lies. That explains nothing that happens to the run,
    and is told beside what does: a restart must not begin there."""
    FORECAST = (8, "forecast")
    """Explains nothing, and is explained by what it foretold only."""
    NOT_EXITING = (9, "finished but alive")
    HANG = (10, "hang")
    KILLED = (11, "killed")
    GONE = (12, "silent end")
    STALE = (12, "no checkpoint")
    SLOWED = (13, "slowed")
    SLOW = (14, "slow, or not seen")
    STRANGE = (15, "strange numbers")
    FLAT = (16, "loss that stands still")

    def __init__(self, rank: int, title: str) -> None:
        self.rank = rank
        self.title = title

    @property
    def numbers(self) -> bool:
        """True for what a log's numbers say: the loss, its gradient, its scale, its rate."""
        return self in (Group.NOT_FINITE, Group.LOSS, Group.STRANGE, Group.FLAT)

    @property
    def ends_hang(self) -> bool:
        """True for what shows that a run does not stand still any more but is gone or broken.

        Whatever its place in the order: a hang that was told is corrected by it at any time.
        """
        if self in (Group.KILLED, Group.GONE):
            return True
        still_there = (Group.INTERRUPTED, Group.SAVE, Group.FORECAST)
        return self.rank <= Group.CRASH.rank and not self.numbers and self not in still_there


class Lines(enum.Enum):
    """What log lines about a class are worth. Means nothing for a class that no line speaks of."""

    END = "a fatal one may be why the run ended: `crash` tells it"
    RULE = "another rule tells them, which knows more than the line"
    NUMBERS = "another rule decides by steps and values: a line says why a program ended itself at most in an old log"


@dataclass(frozen=True, slots=True)
class TroubleClass:
    """One row of the vocabulary."""

    name: str
    group: Group
    lines: Lines = Lines.END
    severity: Severity = Severity.CRITICAL
    """Of a run that it ended."""

    part_of: tuple[str, ...] = ()
    """Classes that explain it for as long as one of the two is open, however mild both are: slow
    windows are minutes long. Itself, where the same again is the same trouble."""
    forecasts: tuple[str, ...] = ()
    """Classes that it foretells: it becomes part of what comes true, be it after an hour."""
    explains_not: tuple[str, ...] = ()
    """Classes that it cannot bring about, whatever the order says."""
    fallout: bool = False
    """As a warning or a note it may be the fallout of a critical cause. The others (a disk that
    fills up, a learning rate of zero) are troubles of their own."""
    hardware: bool = False
    """It can spoil numbers and saves. Of what lies outside the program nothing else can: a full
    disk makes no loss jump."""

    standstill: bool = False
    """The run lives and does not get on: a step of the training contradicts it."""
    bad_save: bool = False
    """What a save was found to be says nothing against going on: the one to resume from is
    verified once more."""
    spoils_saves: bool = False
    """What is saved after it may be finite and worth nothing all the same."""
    result_lost: bool = False
    """A failure also after the log says that training is done: the result is not saved."""

    collective: bool = False
    """What ranks say that wait for another one, or whose watchdog repeats what its GPU said."""
    side_effect: bool = False
    """The root only where nothing more exact is there."""
    teardown: bool = False
    """Noise of a program that takes itself apart, when it comes after the last step."""

    oom_kill: bool = False
    """The kernel killed a process because memory ran out."""
    notice: bool = False
    """Somebody announces that the run will be ended."""
    grace: bool = False
    """The run was told to end from outside and may use its time of grace, as other ranks may use
    theirs: a step or two after it prove nothing."""

    @property
    def rank(self) -> int:
        """Place in the order of causes; a smaller number is nearer to the root."""
        return self.group.rank

    @property
    def numbers(self) -> bool:
        """See :attr:`Group.numbers`."""
        return self.group.numbers


class UnknownClass(ValueError):
    """A class of trouble that has no row."""


_OOM_KILLS = ("cgroup_oom_kill", "host_oom_kill")
_FULL = ("disk_full", "inode_exhausted", "quota_exceeded")
_DISK = (*_FULL, "disk_error", "fs_error", "storage_stall")
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
    TroubleClass("shm_exhausted", Group.MEMORY, teardown=True),

    TroubleClass("disk_full", Group.DISK, Lines.RULE, result_lost=True),
    TroubleClass("inode_exhausted", Group.DISK, Lines.RULE, result_lost=True),
    TroubleClass("quota_exceeded", Group.DISK, Lines.RULE, result_lost=True),
    TroubleClass("disk_error", Group.DISK),
    TroubleClass("fs_error", Group.DISK),
    TroubleClass("storage_stall", Group.DISK, standstill=True),

    TroubleClass("ckpt_write_failed", Group.SAVE_FAILED, Lines.RULE, part_of=_FULL, fallout=True, result_lost=True),

    TroubleClass("loss_nan", Group.NOT_FINITE, Lines.RULE, spoils_saves=True),
    TroubleClass("loss_inf", Group.NOT_FINITE, Lines.RULE, spoils_saves=True),
    TroubleClass("val_loss_nan", Group.NOT_FINITE, Lines.RULE, fallout=True, spoils_saves=True),
    TroubleClass("grad_nonfinite", Group.NOT_FINITE, Lines.RULE, fallout=True, spoils_saves=True),

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
    # A damaged save is found beside an end from outside, or came of it.
    TroubleClass("ckpt_corrupt", Group.CRASH, Lines.RULE, explains_not=("process_killed", "sigterm_received"), bad_save=True),
    TroubleClass("ckpt_incomplete", Group.CRASH, fallout=True, bad_save=True),
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

    TroubleClass("not_exiting", Group.NOT_EXITING, fallout=True, standstill=True),

    TroubleClass("hang", Group.HANG, Lines.NUMBERS, fallout=True, standstill=True),

    TroubleClass("process_killed", Group.KILLED, part_of=_OOM_KILLS, fallout=True, side_effect=True, teardown=True),
    TroubleClass("rank_failed", Group.KILLED, fallout=True, side_effect=True, teardown=True),
    TroubleClass("sigterm_received", Group.KILLED, fallout=True, side_effect=True, teardown=True, grace=True),

    TroubleClass("silent_end", Group.GONE, fallout=True),

    TroubleClass("checkpoint_stale", Group.STALE, part_of=(*_DISK, "ckpt_write_failed", "hang", "stopped"), fallout=True),

    TroubleClass("cpu_throttled", Group.SLOWED),
    TroubleClass("gpu_slow", Group.SLOWED, fallout=True, hardware=True),
    TroubleClass("input_starved", Group.SLOWED, part_of=("storage_stall", "dataloader_worker_killed"), fallout=True),

    TroubleClass("throughput_collapse", Group.SLOW, Lines.NUMBERS, part_of=_SLOWED, fallout=True),
    TroubleClass("blind", Group.SLOW, fallout=True),

    TroubleClass("grad_spike", Group.STRANGE, Lines.NUMBERS, fallout=True),
    TroubleClass("overflow_skip", Group.STRANGE, Lines.NUMBERS, part_of=("loss_scale_exhausted",), fallout=True),
    TroubleClass("loss_missing", Group.STRANGE, Lines.NUMBERS, fallout=True),
    TroubleClass("loss_zero", Group.STRANGE, Lines.NUMBERS, fallout=True),

    TroubleClass("loss_constant", Group.FLAT, part_of=("lr_zero",), fallout=True),
    TroubleClass("loss_plateau", Group.FLAT, part_of=("lr_zero",), fallout=True),
)
# fmt: on
"""Group after group, in the order of causes."""


def _by_name(rows: tuple[TroubleClass, ...]) -> Mapping[str, TroubleClass]:
    """Rows by name. Raises :class:`UnknownClass` where one names what is no row, and ValueError
    for two rows of one name."""
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
"""By name."""


def row(name: str, who: str = "") -> TroubleClass:
    """The row of a class. Raises :class:`UnknownClass`; ``who`` names it, for that message."""
    found = ROWS.get(name)
    if found is None:
        raise _unknown(name, who)
    return found


def which(asked: Callable[[TroubleClass], object]) -> frozenset[str]:
    """The names of all classes of which something is true."""
    return frozenset(each.name for each in CLASSES if asked(each))


COLLECTIVE = which(lambda c: c.collective)
DECIDED_BY_NUMBERS = which(lambda c: c.lines is Lines.NUMBERS)
