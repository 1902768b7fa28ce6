"""Hypothesis strategies for Views of any kind: right in type, and nothing else."""

from __future__ import annotations

from collections import deque
from typing import Any, get_args

from hypothesis import strategies as st

from middlewatch.daemon.parsers.signatures.box import BOX
from middlewatch.daemon.parsers.signatures.gpu import GPU
from middlewatch.daemon.parsers.signatures.run import RUN
from middlewatch.sentinels.kit import (
    CheckpointSaved,
    CheckpointSeen,
    DiskSample,
    GpuSample,
    LogEvent,
    LogGrowth,
    MemorySample,
    Phase,
    ProcessEnded,
    ProcessesSeen,
    ProcessSample,
    RunFacts,
    SourceState,
    StackSeen,
    Step,
    View,
)
from middlewatch.sentinels.kit.observations import PhaseName, SourceStateName, VerifiedState

NOW = 1_760_000_000.0
KINDS = sorted(
    {(row.trouble, row.role, row.severity, row.fatal) for row in (*RUN, *GPU, *BOX)}
    | {
        ("python_exception", "root", "critical", True),
        ("python_exception", "confirmation", "info", False),
    }
)
"""(class, role, severity, fatal) of the events that parsers make."""
CLASSES = sorted({kind[0] for kind in KINDS})

times = st.one_of(
    st.floats(NOW - 4000, NOW + 10),
    st.sampled_from([0.0, NOW - 600, NOW - 90, NOW - 20, NOW - 1, NOW, NOW + 1e6]),
)
numbers = st.one_of(st.integers(-3, 50).map(float), st.floats(-1e12, 1e12))
metrics = st.floats()
words = st.text(max_size=12)
paths = st.sampled_from(["/", "/data", "/data/out/ckpt-7", "/dev/shm", "relative", ""])
files = st.sampled_from(["/data/a.log", "/data/b.log", "kernel", ""])
lines = st.integers(0, 40)
ranks = st.none() | st.integers(0, 3)
sizes = st.integers(0, 1 << 44)
ratios = st.none() | st.floats(0, 1)
amounts = st.none() | st.floats(0, 1e4)
counts = st.none() | st.integers(0, 3)
details = st.dictionaries(
    st.sampled_from(["exception", "message", "xid", "pid", "requested_bytes", "exitcode", "rank"]),
    st.one_of(st.none(), words, st.integers(-9, 200), metrics, st.lists(words, max_size=2)),
    max_size=3,
)


def literal(alias: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(get_args(alias))


def some(strategy: st.SearchStrategy[Any], most: int = 5) -> st.SearchStrategy[Any]:
    """A few of them, in a tuple or a deque, by time where they have one."""

    def ordered(found: list[Any], box: Any) -> Any:
        if found and hasattr(found[0], "at"):
            found.sort(key=lambda one: one.at)
        return box(found)

    return st.builds(ordered, st.lists(strategy, max_size=most), st.sampled_from([tuple, deque]))


def grouped(strategy: st.SearchStrategy[Any], field: str) -> st.SearchStrategy[Any]:
    """Samples by the thing they are of; a thing may have none (yet)."""

    def group(found: Any) -> dict[Any, Any]:
        box = type(found)
        names = {getattr(one, field) for one in found}
        return {name: box(s for s in found if getattr(s, field) == name) for name in names} | {
            None: box()
        }

    return some(strategy, 8).map(group)


steps = st.builds(
    Step,
    at=times,
    number=st.none() | numbers,
    values=st.dictionaries(
        st.sampled_from(["train_loss", "eval_loss", "grad_norm", "lr"]), metrics, max_size=3
    ),
    total=st.none() | numbers,
    rank=ranks,
    file=files,
    line=lines,
    text=words,
)
events = st.builds(
    lambda kind, **other: LogEvent(
        trouble=kind[0], role=kind[1], severity=kind[2], fatal=kind[3], **other
    ),
    kind=st.sampled_from(KINDS),
    at=times,
    text=st.text(max_size=400).map(lambda text: f"line {text}"),
    file=files,
    line=lines,
    rank=ranks,
    details=details,
)
processes = st.builds(
    ProcessSample,
    pid=st.integers(100, 103),
    start_ticks=st.integers(1, 2),
    ppid=st.integers(0, 103),
    name=words,
    state=st.sampled_from("RSDTtZX"),
    cpu_s=st.floats(0, 1e5),
    rank=ranks,
    read_bytes=st.none() | sizes,
    write_bytes=st.none() | sizes,
    wchan=st.none() | words,
)
frames = st.sampled_from(
    [
        "all_reduce (torch/distributed/distributed_c10d.py:9)",
        "get (python/multiprocessing/queues.py:1)",
        "main (train.py:7)",
        "main (train.py:8)",
        "a frame of another form",
    ]
)
stacks = st.builds(
    StackSeen,
    at=times,
    pid=st.integers(100, 103),
    frames=st.lists(frames, min_size=1, max_size=3).map(tuple),
    own=st.none() | st.just(0),
    rank=ranks,
    active=st.booleans(),
    gil=st.booleans(),
)
disks = st.builds(
    DiskSample,
    at=times,
    mount=paths,
    fstype=words,
    total_bytes=sizes,
    free_bytes=sizes,
    total_inodes=st.none() | sizes,
    free_inodes=st.none() | sizes,
    read_only=st.booleans(),
    holds=st.lists(st.sampled_from(["checkpoints", "log", "cwd", "state", "shm"])).map(tuple),
)
gpus = st.builds(
    GpuSample,
    at=times,
    index=st.integers(0, 1),
    name=words,
    util_ratio=ratios,
    power_w=amounts,
    power_limit_w=amounts,
    lost=st.booleans(),
    error=st.none() | words,
)
views = st.builds(
    View,
    now=st.sampled_from([NOW, NOW + 3, NOW + 100]),
    run=st.builds(
        RunFacts,
        name=words,
        started_at=times,
        watched_since=times,
        pid=st.none() | st.integers(100, 103),
        ours=st.booleans(),
        expected_steps=st.none() | numbers,
        world_size=counts,
    ),
    live=st.booleans(),
    ended=st.booleans(),
    steps=some(steps, 8),
    step_times=some(st.tuples(times, numbers), 12).map(lambda m: type(m)(sorted(m))),
    events=some(events, 8),
    phases=some(
        st.builds(Phase, at=times, name=literal(PhaseName), text=words, file=files, line=lines)
    ),
    claimed_saves=some(
        st.builds(CheckpointSaved, at=times, step=st.none() | numbers, path=st.none() | paths)
    ),
    logs=st.dictionaries(
        files,
        st.builds(LogGrowth, at=times, file=files, bytes=sizes, lines=lines, grown_at=times),
        max_size=2,
    ),
    process_samples=some(
        st.builds(ProcessesSeen, at=times, processes=st.lists(processes, max_size=3).map(tuple)),
        8,
    ),
    stacks=some(stacks, 8),
    endings=some(
        st.builds(
            ProcessEnded,
            at=times,
            pid=st.integers(100, 103),
            main=st.booleans(),
            exit_code=st.none() | st.integers(-2, 255),
            signal=st.none() | st.integers(0, 64),
            rank=ranks,
            name=words,
        ),
        3,
    ),
    disks=grouped(disks, "mount"),
    memory=some(
        st.builds(
            MemorySample,
            at=times,
            cgroup=words,
            limit_bytes=st.none() | sizes,
            current_bytes=sizes,
            working_set_bytes=sizes,
            oom_kills=counts,
        )
    ),
    gpus=grouped(gpus, "index"),
    saving_at=st.none() | times,
    checkpoints=some(
        st.builds(
            CheckpointSeen,
            at=times,
            path=paths,
            saved_at=times,
            bytes=sizes,
            files=st.integers(0, 2000),
            format=words,
            step=st.none() | numbers,
            state=literal(VerifiedState),
            level=st.sampled_from([None, "structure", "checksum", "finite"]),
            detail=words,
            parts=st.lists(st.sampled_from(["a×1", "a×2", "b×1", "b", ""])).map(tuple),
        ),
        14,
    ),
    sources=some(
        st.builds(
            SourceState,
            at=times,
            source=st.sampled_from(["nvml", "log_tail:/data/a.log", "disk"]),
            state=literal(SourceStateName),
            since=times,
            detail=st.text(max_size=400),
        ),
        3,
    ).map(lambda found: tuple({source.source: source for source in found}.values())),
    gap_s=st.sampled_from([0.0, 30.0, 1e6]),
)
