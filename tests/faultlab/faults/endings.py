"""Runs that end before their time."""

from __future__ import annotations

from dataclasses import replace

from ..bench import Bench, inside
from ..lab import DELIVERY_S, Fault
from .hangs import doing

LIMIT = 300 << 20


def in_small_memory(bench: Bench, mode: str, size: int = 600 << 20) -> None:
    """The small trainer, or its worker, takes more than its cgroup has."""
    group = bench.cgroup("memory", memory__limit_in_bytes=str(LIMIT))
    swap = group / "memory.memsw.limit_in_bytes"
    if swap.exists():
        swap.write_text(str(LIMIT))
    words = ("--at", bench.random.randint(25, 60), "--size", size)
    bench.train(*inside(group, bench.program("plain", mode, *words)))


CRASH = Fault(
    "20a",
    "traceback",
    doing("crash"),
    classes=frozenset({"python_exception"}),
    cause="KeyError",
    remedy=r"traceback|log|line|evidence|error",
    deadline_s=5 + DELIVERY_S,
)
KILLED = replace(
    CRASH,
    number="21",
    name="memory_of_trainer",
    arrange=lambda bench: in_small_memory(bench, "eat"),
    classes=frozenset({"cgroup_oom_kill", "host_oom_kill"}),
    also=frozenset({"memory_pressure"}),
    cause="memory",
    remedy=r"memory|worker|batch|pinned",
)
FAULTS = (
    CRASH,
    replace(
        CRASH,
        number="20b",
        name="segfault",
        arrange=doing("segfault"),
        classes=frozenset({"segfault"}),
        cause="SIGSEGV|segmentation",
        remedy=r"core|faulthandler|evidence|error|log|stack",
    ),
    replace(
        CRASH,
        number="20c",
        name="exit_0_early",
        arrange=doing("early"),
        classes=frozenset({"silent_end"}),
        cause=r"ended at step|exit status 0",
        remedy=r"log|line|steps|end|command",
    ),
    KILLED,
    replace(
        KILLED,
        number="22",
        name="memory_of_worker",
        arrange=lambda bench: in_small_memory(bench, "worker"),
    ),
    replace(
        CRASH,
        number="23",
        name="cuda_out_of_memory",
        arrange=doing("cuda_oom"),
        classes=frozenset({"cuda_oom"}),
        cause="CUDA|GPU",
        remedy=r"batch|fragment|memory",
        deadline_s=2 + DELIVERY_S,
    ),
    Fault(
        "C7",
        "memory_hump",
        lambda bench: in_small_memory(bench, "worker", 160 << 20),
        kind="control",
        length_s=60,
    ),
)
