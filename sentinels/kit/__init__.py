"""The tools that rules are written with. Standard library only, no I/O, no clock."""

from __future__ import annotations

from .accumulator import Accumulator
from .container import ContainerSeen
from .findings import Evidence, Finding, Severity
from .gpu_sample import GpuSample
from .handbook import HandbookPage, RemedyStep
from .last_words import LastWords
from .line_signs import LineSigns
from .observations import (
    CheckpointSaved,
    CheckpointSeen,
    CpuQuotaSample,
    Deadline,
    DiskSample,
    Durability,
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
from .parts_used import PartsUsed
from .recovery import OpenIncident
from .sentinel import Sentinel, accumulators, discover, handbook
from .view import RunFacts, View

__all__ = [
    "Accumulator",
    "CheckpointSaved",
    "CheckpointSeen",
    "ContainerSeen",
    "CpuQuotaSample",
    "Deadline",
    "DiskSample",
    "Durability",
    "Evidence",
    "Finding",
    "GpuSample",
    "HandbookPage",
    "LastWords",
    "LineSigns",
    "LogEvent",
    "LogGrowth",
    "MemorySample",
    "Observation",
    "OpenIncident",
    "PartsUsed",
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
    "accumulators",
    "discover",
    "handbook",
]
