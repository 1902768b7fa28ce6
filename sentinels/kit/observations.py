"""Frozen facts with the time they were seen.

A source or a parser makes them, the history keeps them, a sentinel reads them. ``at`` is
always the epoch second at which *we* saw the thing, never a time that a log claims.
Sizes are bytes, ratios are 0..1, and ``None`` always means "not known", never zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Union

Role = Literal["root", "cascade", "confirmation"]
SeverityName = Literal["info", "warning", "critical"]
PhaseName = Literal["start", "compile", "load", "evaluate", "save", "done"]
SourceStateName = Literal["starting", "ok", "impaired", "failed", "stalled", "unsupported"]
GoneWith = Literal["", "session", "container", "box"]
VerifiedState = Literal["ok", "corrupt", "incomplete", "unverifiable", "pending"]


class Step(NamedTuple):
    """One report of training metrics, read from one line (or record) of a log.

    A named tuple, where the others are data classes: a log of a day holds a million of them.
    """

    at: float
    number: float | None
    """Training step as the log counts it; ``None`` when the line names none."""
    values: Mapping[str, float]
    """Canonical names (``train_loss``, ``lr``, …) and the log's own names for the rest."""
    epoch: float | None = None
    total: float | None = None
    """Last step the log announces (``step 40/5000``)."""
    rank: int | None = None
    file: str = ""
    line: int = 0
    text: str = ""
    """The line itself, kept only where one of its values is not finite: it is evidence."""
    epochs: float | None = None
    """Epochs that the log announces (``Epoch 3/20``)."""
    clock: float | None = None
    """Seconds by the time that the line itself tells, from an arbitrary beginning: only
    differences within one log mean anything. ``None`` where it tells none."""

    @property
    def loss(self) -> float | None:
        """The training loss of this report, if it has one."""
        return self.values.get("train_loss")


@dataclass(frozen=True, slots=True)
class LogEvent:
    """A line that matched a signature: somebody said that something went wrong."""

    at: float
    trouble: str
    """Class of the closed vocabulary (``cuda_oom``, ``python_exception``, …)."""
    role: Role
    """root: may be the cause; cascade: fallout of another; confirmation: supports one."""
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
    """A line that tells what the program is about to do (evaluate, save, compile, done)."""

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
    """How a log file stands: its size, and when it last grew."""

    at: float
    file: str
    bytes: int
    lines: int
    grown_at: float
    """When bytes last arrived (or when we began to look)."""
    chunk_bytes: int = 0
    """Bytes of the newest growth: steady multiples of 4096 mean block buffering."""


@dataclass(frozen=True, slots=True)
class ProcessSample:
    """One process of a run at one instant, from ``/proc`` only."""

    pid: int
    start_ticks: int
    """Field 22 of /proc/PID/stat; with the pid it is the identity of the process."""
    ppid: int
    name: str
    state: str
    """R running, S sleeping, D uninterruptible, T stopped, t traced, Z zombie, X dead."""
    cpu_s: float
    """User and system CPU seconds since its start."""
    rank: int | None = None
    read_bytes: int | None = None
    """``rchar``: bytes asked for by read calls, cached or not."""
    write_bytes: int | None = None
    """``wchar``: bytes handed to write calls."""
    rss_bytes: int | None = None
    wchan: str | None = None


@dataclass(frozen=True, slots=True)
class ProcessesSeen:
    """All processes of a run at one instant; empty when none is left."""

    at: float
    processes: tuple[ProcessSample, ...]


@dataclass(frozen=True, slots=True)
class StackSeen:
    """Where the main thread of one Python process stood at one instant."""

    at: float
    pid: int
    frames: tuple[str, ...]
    """Innermost first: ``acquire (python/threading.py:327)``. Code of the run itself is named by
    its file alone, libraries with their folder, the standard library as ``python/…``."""
    own: int | None = None
    """Index of the innermost frame that is neither a library's nor the standard library's."""
    rank: int | None = None
    active: bool = False
    """Running or wanting to run, not asleep in a system call."""
    gil: bool = False
    """It held the interpreter's lock: Python code ran, or an extension that keeps the lock."""
    threads: int = 1


@dataclass(frozen=True, slots=True)
class ProcessEnded:
    """A process of the run is gone.

    ``exit_code`` and ``signal`` are known only when the process was ours (started by
    ``middlewatch run``); both ``None`` means that nobody could tell.
    """

    at: float
    pid: int
    main: bool
    """True for the process the run stands and falls with."""
    exit_code: int | None = None
    signal: int | None = None
    rank: int | None = None
    name: str = ""
    gone_with: GoneWith = ""
    """What went away at the same time: its terminal's ``session``, its ``container`` (restarted)
    or the ``box`` (rebooted)."""


@dataclass(frozen=True, slots=True)
class DiskSample:
    """Space of one mount that the run touches."""

    at: float
    mount: str
    fstype: str
    total_bytes: int
    free_bytes: int
    """Free for an unprivileged writer (``f_bavail``)."""
    total_inodes: int | None
    """``None`` where the file system counts none (btrfs, some overlays report 0)."""
    free_inodes: int | None
    read_only: bool = False
    holds: tuple[str, ...] = ()
    """What of the run lies there: ``checkpoints``, ``log``, ``cwd``, ``state``, ``tmp``, ``shm``."""


@dataclass(frozen=True, slots=True)
class MemorySample:
    """Memory of the cgroup the run lives in, against the nearest limit above it."""

    at: float
    cgroup: str
    limit_bytes: int | None
    """Lowest limit on the way up to the root; ``None`` where there is none."""
    current_bytes: int
    working_set_bytes: int
    """``current - inactive_file``: page cache that can be dropped is not use."""
    oom_kills: int | None
    """Kills counted since the watch began, kept over restarts of the watch."""
    pressure_full_avg10: float | None = None
    host_available_bytes: int | None = None
    active_file_bytes: int | None = None
    """Page cache within the working set: used lately, and still to be dropped at need."""
    pressure_some_avg10: float | None = None
    """Percent of the last ten seconds in which something waited for memory."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """Somebody else ends the run at a known instant: a scheduler, a platform, a person."""

    at: float
    ends_at: float
    """Epoch seconds."""
    origin: str
    """Who says so: ``SLURM_JOB_END_TIME``, ``timeout``, ``configuration``, …"""


@dataclass(frozen=True, slots=True)
class GpuSample:
    """One GPU at one instant. ``None`` is "not supported" (MIG, old board), never 0."""

    at: float
    index: int
    uuid: str = ""
    name: str = ""
    util_ratio: float | None = None
    mem_used_bytes: int | None = None
    mem_total_bytes: int | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    temp_c: float | None = None
    sm_clock_mhz: float | None = None
    throttle: tuple[str, ...] = ()
    """Names of the active clock event reasons that cost speed (``hw_thermal``, …)."""
    pids: tuple[int, ...] | None = None
    lost: bool = False
    """The driver itself said NVML_ERROR_GPU_IS_LOST or took the device away."""
    error: str | None = None
    sm_clock_usual_mhz: float | None = None
    """Its clock in the fastest half minute of full load that was seen."""
    power_usual_w: float | None = None
    """Its draw in the half minute of full load in which it drew most."""
    ecc_new: int | None = None
    """Uncorrected memory errors that were counted since the watch began."""
    remap_failed: bool | None = None
    """A faulty row of its memory could not be replaced by a spare one."""


@dataclass(frozen=True, slots=True)
class CpuQuotaSample:
    """CPU time that the control groups of a run may use, and how often that was too little.

    Counters only grow, but begin anew with another group.
    """

    at: float
    cgroup: str
    """The group with the lowest quota on the way up to the root."""
    cores: float | None
    """Quota over period; ``None`` where there is no quota."""
    periods: int = 0
    """Periods in which something wanted to run."""
    throttled: int = 0
    """Those of them in which the quota ran out."""
    throttled_s: float = 0.0
    """Seconds for which threads had to stand still, added up over CPUs."""


class Durability(NamedTuple):
    """What becomes of a place when its box is stopped, and when it is given back."""

    survives_stop: bool | None = None
    """A stop, or the platform taking the box away; ``None``: not known."""
    survives_destroy: bool | None = None
    """The end of the box: terminated, released, deleted; ``None``: not known."""
    where: str = "unknown"
    """What kind of place it is (``memory (tmpfs /dev/shm)``, ``network volume of RunPod``)."""
    better: str = ""
    """What to do instead; empty where nobody knows."""

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
    """A checkpoint on disk, as the follower and the verifier know it now."""

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
    """Who said the step: the ``checkpoint`` itself, a ``state`` file beside it, the ``log``, or
    only its ``name``."""
    metrics_origin: str | None = None
    """Who said the metrics, in the same words."""
    digest: str | None = None
    """Of all its bytes as they were read: ``xxh3:`` and 32 hex digits."""
    parts: tuple[str, ...] = ()
    """What it is made of, at most 32: ``PATTERN×COUNT``, the names of its files with their
    numbers wiped (``rng_state_#.pth×8``), and ``tensors×COUNT`` where they were counted."""
    durability: Durability | None = None
    """What becomes of it when the box is stopped; ``None`` where nobody looked."""
    mirrored: str = ""
    """Folder that holds a copy of it which was read back and is the same; empty without one."""


@dataclass(frozen=True, slots=True)
class SourceState:
    """How one source is: working, working with a flaw, broken, stuck, or not to be had here."""

    at: float
    source: str
    """Name, and what it reads: ``log_tail:/data/train.log``, ``nvml``, ``disk``."""
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
    CheckpointSeen,
    Deadline,
    SourceState,
]
