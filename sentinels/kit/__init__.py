"""What every rule is written with. Standard library only, no I/O, no clock."""

from __future__ import annotations

from .findings import Evidence, Finding, Severity
from .handbook import Entry, RemedyStep
from .ledger import Ledger
from .observations import (
    CheckpointSaved,
    CheckpointSeen,
    CpuQuotaSample,
    Deadline,
    DiskSample,
    Durability,
    GpuSample,
    LogEvent,
    LogGrowth,
    MemorySample,
    Observation,
    Phase,
    ProcessEnded,
    ProcessesSeen,
    ProcessSample,
    SourceState,
    StackSeen,
    Step,
)
from .sentinel import Sentinel, discover, handbook, ledgers
from .view import RunFacts, View

__all__ = [
    "CheckpointSaved",
    "CheckpointSeen",
    "CpuQuotaSample",
    "Deadline",
    "DiskSample",
    "Durability",
    "Entry",
    "Evidence",
    "Finding",
    "GpuSample",
    "Ledger",
    "LogEvent",
    "LogGrowth",
    "MemorySample",
    "Observation",
    "Phase",
    "ProcessEnded",
    "ProcessSample",
    "ProcessesSeen",
    "RemedyStep",
    "RunFacts",
    "Sentinel",
    "Severity",
    "SourceState",
    "StackSeen",
    "Step",
    "View",
    "discover",
    "handbook",
    "ledgers",
]
