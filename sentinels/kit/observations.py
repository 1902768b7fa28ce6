"""Observations: immutable facts with the time at which they were seen.

A source or a parser makes them, the history keeps them, sentinels read them. ``at`` is always the
time (epoch seconds) at which middlewatch saw something, never a time that a log claims. Sizes are
bytes, ratios are 0..1, and ``None`` always means "not known", never zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Union

from .container import ContainerSeen
from .gpu_sample import GpuSample
from .line_signs import LineSigns
from .parts_used import PartsUsed

Role = Literal["root", "cascade", "confirmation"]
SeverityName = Literal["info", "warning", "critical"]
PhaseName = Literal[
    "start", "compile", "load", "evaluate", "save", "transfer", "pause",
    "trial", "stage", "stop", "done",
]  # fmt: skip
SourceStateName = Literal["starting", "ok", "impaired", "failed", "stalled", "unsupported"]
GoneWith = Literal["", "session", "container", "box"]
VerifiedState = Literal["ok", "corrupt", "incomplete", "unverifiable", "pending"]


class Step(NamedTuple):
    """One report of training metrics, read from one line (or record) of a log.

    A named tuple, not a dataclass like the others, for speed: the log of a day may have a million.
    """

    at: float
    number: float | None
    """Training step as the log counts it; ``None`` when the line has none."""
    values: Mapping[str, float]
    """Canonical names (``train_loss``, ``lr``, …) and the log's own names for the rest."""
    epoch: float | None = None
    total: float | None = None
    """Last step the log announces (``step 40/5000``)."""
    rank: int | None = None
    file: str = ""
    line: int = 0
    text: str = ""
    """The line itself, as evidence; kept only if one of its values is not finite."""
    epochs: float | None = None
    """Epochs that the log announces (``Epoch 3/20``)."""
    clock: float | None = None
    """The time stamp in the line itself, in seconds from an arbitrary start: only differences
    within one log have a meaning. ``None`` without a time stamp."""

    @property
    def loss(self) -> float | None:
        """The training loss of this report, if it has one."""
        return self.values.get("train_loss")


@dataclass(frozen=True, slots=True)
class LogEvent:
    """A line that matched a signature: a program reports that something went wrong."""

    at: float
    trouble: str
    """Class of the closed vocabulary (``cuda_oom``, ``python_exception``, …)."""
    role: Role
    """``root``: it may be the cause; ``cascade``: a consequence of another trouble;
    ``confirmation``: it supports another line."""
    severity: SeverityName
    fatal: bool
    text: str
    """The line, cleaned, at most 400 characters."""
    file: str = ""
    line: int = 0
    rank: int | None = None
    signature: str = ""
    details: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Phase:
    """A line that says what the program does next (evaluate, save, compile), or that it is done."""

    at: float
    name: PhaseName
    text: str
    file: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class CheckpointSaved:
    """The log claims that a checkpoint was saved. A claim, not a fact."""

    at: float
    step: float | None
    path: str | None
    file: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class LogGrowth:
    """The size of a log file, and when it last grew."""

    at: float
    file: str
    bytes: int
    lines: int
    grown_at: float
    """When bytes last arrived, or when the log was first read."""
    chunk_bytes: int = 0
    """Bytes of the newest growth: multiples of 4096 every time mean block buffering."""
    signs: LineSigns | None = None
    """What its lines are about; ``None`` when they were not counted."""


@dataclass(frozen=True, slots=True)
class ProcessSample:
    """One process of a run at one instant, from ``/proc`` only."""

    pid: int
    start_ticks: int
    """Field 22 of /proc/PID/stat; together with the pid it identifies the process."""
    ppid: int
    name: str
    state: str
    """R running, S sleeping, D uninterruptible, T stopped, t traced, Z zombie, X dead."""
    cpu_s: float
    """User and system CPU seconds since its start."""
    rank: int | None = None
    read_bytes: int | None = None
    """``rchar``: bytes that read calls returned, cached or not, since its start."""
    write_bytes: int | None = None
    """``wchar``: bytes given to write calls, since its start."""
    rss_bytes: int | None = None
    wchan: str | None = None
    """Kernel function in which its first thread sleeps."""
    socket_bytes: int | None = None
    """Bytes through its sockets since the first look at them; this and the next while a silence is judged."""
    switches: int | None = None
    program: int | None = None
    """Equal for equal command lines; ``None`` for a copy of its parent (a worker), or if not known."""


@dataclass(frozen=True, slots=True)
class ProcessesSeen:
    """All processes of a run at one instant; empty when none is left."""

    at: float
    processes: tuple[ProcessSample, ...]


@dataclass(frozen=True, slots=True)
class StackSeen:
    """The stack of the main thread of one Python process at one instant."""

    at: float
    pid: int
    frames: tuple[str, ...]
    """Innermost first: ``acquire (python/threading.py:327)``. For code of the run itself only the
    file name is given, for a library also its folder, for the standard library ``python/…``."""
    own: int | None = None
    """Index of the innermost frame that is neither a library's nor the standard library's."""
    rank: int | None = None
    active: bool = False
    """True when the thread ran or waited for a CPU, not asleep in a system call."""
    gil: bool = False
    """True when it held the interpreter lock (GIL): it ran Python code, or an extension with the lock."""
    threads: int = 1


@dataclass(frozen=True, slots=True)
class ProcessEnded:
    """A process of the run has ended; no ``exit_code`` and no ``signal``: it is not known how."""

    at: float
    pid: int
    main: bool
    """True for the main process: when it ends, the run has ended."""
    exit_code: int | None = None
    signal: int | None = None
    rank: int | None = None
    name: str = ""
    gone_with: GoneWith = ""
    """What ended as well: its terminal's ``session``, its ``container`` (restarted), the ``box``."""
    lived_s: float | None = None
    program: int | None = None


@dataclass(frozen=True, slots=True)
class DiskSample:
    """Space on one mount that the run uses."""

    at: float
    mount: str
    fstype: str
    total_bytes: int
    free_bytes: int
    """Free for an unprivileged writer (``f_bavail``)."""
    total_inodes: int | None
    """``None`` if the file system does not count inodes (btrfs and some overlays report 0)."""
    free_inodes: int | None
    read_only: bool = False
    holds: tuple[str, ...] = ()
    """What the run has there: ``checkpoints``, ``log``, ``cwd``, ``files`` (open for writing, or
    named in its command), ``tmp``, ``shm``; ``state``: the state directory of the daemon. In what a
    source of the whole box gives, what all runs have there."""

    @property
    def place(self) -> str:
        """Its name as the place of a trouble of the box: the same for all runs."""
        return f"mount:{self.mount}"


@dataclass(frozen=True, slots=True)
class MemorySample:
    """Memory of the cgroup of the run, and the limit that applies to it."""

    at: float
    cgroup: str
    limit_bytes: int | None
    """Lowest limit of the cgroup and all above it; ``None`` without a limit."""
    current_bytes: int
    working_set_bytes: int
    """``current - inactive_file``: page cache that the kernel can drop does not count."""
    oom_kills: int | None
    """OOM kills since the run was first watched; kept over restarts of the daemon."""
    pressure_full_avg10: float | None = None
    host_available_bytes: int | None = None
    active_file_bytes: int | None = None
    """Active page cache, part of the working set: used lately, but the kernel can drop it too."""
    pressure_some_avg10: float | None = None
    """Percentage of the last ten seconds in which at least one process waited for memory."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """A time at which the run will be ended from outside: by a scheduler, a platform, a person."""

    at: float
    ends_at: float
    """Epoch seconds."""
    origin: str
    """Where this is known from: ``SLURM_JOB_END_TIME``, ``timeout``, ``configuration``, …"""


@dataclass(frozen=True, slots=True)
class CpuQuotaSample:
    """The CPU quota of the control groups of a run, and how often it ran out.

    The counters only grow; those of another group begin anew.
    """

    at: float
    cgroup: str
    """The group with the lowest quota, of the run's own and all above it."""
    cores: float | None
    """Quota divided by period; ``None`` without a quota."""
    periods: int = 0
    """Periods in which a thread of the group wanted to run."""
    throttled: int = 0
    """Those of the periods in which the quota ran out."""
    throttled_s: float = 0.0
    """Seconds for which threads were throttled, summed over CPUs."""


class Durability(NamedTuple):
    """Whether files at a place survive when the box is stopped, and when it is destroyed."""

    survives_stop: bool | None = None
    """They survive a stop of the box, by a person or the platform; ``None``: not known."""
    survives_destroy: bool | None = None
    """They survive that the box is terminated, released or deleted; ``None``: not known."""
    where: str = "unknown"
    """The kind of storage (``memory (tmpfs /dev/shm)``, ``network volume of RunPod``)."""
    better: str = ""
    """What to do instead; empty when nothing better is known."""

    @property
    def words(self) -> str:
        """For a person: ``survives a stop, not a destroy: volume disk of the Pod (…)``."""
        kept, lost = self.survives_stop, self.survives_destroy is False
        if kept is False:
            verdict = "lost with a stop"
        elif kept is None:
            verdict = "unknown" + (", lost with a destroy" if lost else "")
        elif self.survives_destroy:
            verdict = "survives a stop and a destroy"
        else:
            verdict = "survives a stop" + (", not a destroy" if lost else "")
        return verdict if self.where == "unknown" else f"{verdict}: {self.where}"


@dataclass(frozen=True, slots=True)
class CheckpointSeen:
    """What is known now about a checkpoint on disk, from following and verifying it."""

    at: float
    path: str
    saved_at: float
    """Modification time of its newest file (wall clock of the box)."""
    bytes: int
    files: int
    format: str
    step: float | None = None
    epoch: float | None = None
    state: VerifiedState = "pending"
    level: str | None = None
    detail: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)
    step_origin: str | None = None
    """Where the step is from: the ``checkpoint`` itself, a ``state`` file beside it, the ``log``,
    or only its ``name``."""
    metrics_origin: str | None = None
    """Where the metrics are from, in the same words."""
    digest: str | None = None
    """Digest of all its bytes when they were read: ``xxh3:`` and 32 hex digits."""
    parts: tuple[str, ...] = ()
    """Its parts, at most 32, as ``PATTERN×COUNT``: names of files with the numbers replaced by
    ``#`` (``rng_state_#.pth×8``), and ``tensors×COUNT`` if they were counted."""
    durability: Durability | None = None
    """Whether it survives a stop of the box; ``None`` when that was not examined."""
    mirrored: str = ""
    """Folder with a copy of it that was read back and is the same; empty without one."""


@dataclass(frozen=True, slots=True)
class SourceState:
    """The state of one source: it works (``ok``), has a flaw (``impaired``) or is broken (``failed``), its
    answer is overdue (``stalled``), or it is not to be had on this box (``unsupported``)."""

    at: float
    source: str
    """Its kind, and what it reads if needed: ``log_tail:/data/train.log``, ``nvml``, ``disk``."""
    state: SourceStateName
    since: float
    detail: str = ""


Observation = Union[
    Step,
    LogEvent,
    Phase,
    CheckpointSaved,
    LogGrowth,
    ProcessesSeen,
    StackSeen,
    ProcessEnded,
    DiskSample,
    MemorySample,
    GpuSample,
    CpuQuotaSample,
    PartsUsed,
    ContainerSeen,
    CheckpointSeen,
    Deadline,
    SourceState,
]
