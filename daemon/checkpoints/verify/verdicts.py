"""What is known about a file, and about the files of a checkpoint together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from ..formats.recognise import MOST_FILES, UNTOLD, Format, Progress

State = Literal["ok", "corrupt", "incomplete", "unverifiable"]


@dataclass(frozen=True, slots=True)
class FileVerdict:
    """What is known about one file."""

    state: State
    detail: str = ""
    format: Format = "unknown"
    progress: Progress = UNTOLD
    tensors: frozenset[str] | None = None
    """Names of the tensors, where the format lists them in clear."""
    counters: dict[str, float] | None = None
    parts: tuple[str, ...] | None = None
    """What a single file is made of, see ``roster``; ``None`` where nobody has looked."""


@dataclass(frozen=True, slots=True)
class FolderVerdict:
    """What is known about the files of a checkpoint together."""

    state: State
    detail: str = ""
    progress: Progress = UNTOLD
    format: Format = "unknown"
    bytes: int = 0
    files: int = 0


CheckFile = Callable[[str], FileVerdict]
_WORST: tuple[State, ...] = ("corrupt", "incomplete", "unverifiable", "ok")


def worst(found: Sequence[FolderVerdict]) -> FolderVerdict:
    """The worst state, its detail, and the progress that the parts know together."""
    if not found:
        return FolderVerdict("ok")
    state = min((v.state for v in found), key=_WORST.index)
    detail = next((v.detail for v in found if v.state == state and v.detail), "")
    return FolderVerdict(state, detail, combined_progress([v.progress for v in found]))


def combined_progress(told: Sequence[Progress]) -> Progress:
    """The first step and the first epoch that anybody tells, and the metrics of all."""
    stepped = next((p for p in told if p.step is not None), UNTOLD)
    epoch = next((p.epoch for p in (stepped, *told) if p.epoch is not None), None)
    metrics: dict[str, float] = {}
    for progress in reversed(told):
        metrics.update(progress.metrics)
    return Progress(stepped.step, epoch, metrics, stepped.origin)


def check_named_file(path: str, shown: str, check_file: CheckFile) -> FileVerdict:
    """Check one file; its name is put in front of what is wrong."""
    try:
        verdict = check_file(path)
    except OSError as error:
        return FileVerdict("unverifiable", f"{shown} cannot be read: {error.strerror}")
    if verdict.state == "ok":
        return verdict
    return FileVerdict(verdict.state, f"{shown}: {verdict.detail}", verdict.format)


def first_gap(numbers: set[int], of: int = 0) -> int | None:
    """The smallest rank missing below the largest one, or of ``of``; ranks count from 0."""
    count = max(len(numbers), min(of, MOST_FILES))
    return next((n for n in range(count) if n not in numbers), None)


def one_detail(said: str, more: str) -> str:
    """What one level had to add and what the next one has, each remark once."""
    first = [text for text in said.split("; ") if text and text not in more]
    return "; ".join([*first, more] if more else first)
