"""The verdict on one file, and on the files of a checkpoint together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from ..formats.own_step import OwnStep as OwnStep
from ..formats.recognise import MOST_FILES, UNTOLD, Format, Progress

State = Literal["ok", "corrupt", "incomplete", "unverifiable"]


@dataclass(frozen=True, slots=True)
class FileVerdict:
    """The result of checking one file."""

    state: State
    detail: str = ""
    format: Format = "unknown"
    progress: Progress = UNTOLD
    tensors: frozenset[str] | None = None
    """Names of the tensors, where the format lists them."""
    counters: dict[str, float] | None = None
    parts: tuple[str, ...] | None = None
    """Parts of a single file, see :func:`.composition.roster`; ``None`` where not looked for."""
    own_step: OwnStep | None = None
    """The step that the file tells of itself."""


@dataclass(frozen=True, slots=True)
class FolderVerdict:
    """The result of checking the files of a checkpoint together."""

    state: State
    detail: str = ""
    progress: Progress = UNTOLD
    format: Format = "unknown"
    bytes: int = 0
    files: int = 0
    ended: bool = True
    """False where the file is missing that the trainer writes last."""
    learned: bool = False
    """Only the saves before say that something is missing, and no save after this one does yet."""


CheckFile = Callable[[str], FileVerdict]
_WORST: tuple[State, ...] = ("corrupt", "incomplete", "unverifiable", "ok")


def worst(found: Sequence[FolderVerdict]) -> FolderVerdict:
    """The worst state with its detail, and the combined progress of all.

    A save that never ended is ``incomplete``, whatever is in the files that it was about to write:
    a file cut off by the same kill is no second damage.
    """
    if not found:
        return FolderVerdict("ok")
    ended = all(v.ended for v in found)
    state = min((v.state for v in found if v.ended == ended), key=_WORST.index)
    detail = next(
        (v.detail for v in found if v.state == state and v.ended == ended and v.detail), ""
    )
    progress = combined_progress([v.progress for v in found])
    said = [v for v in found if v.state == state and v.ended == ended]
    learned = state != "ok" and all(v.learned for v in said)
    return FolderVerdict(state, detail, progress, ended=ended, learned=learned)


def combined_progress(told: Sequence[Progress]) -> Progress:
    """The first step and the first epoch that are known, and the metrics of all."""
    stepped = next((p for p in told if p.step is not None), UNTOLD)
    epoch = next((p.epoch for p in (stepped, *told) if p.epoch is not None), None)
    metrics: dict[str, float] = {}
    for progress in reversed(told):
        metrics.update(progress.metrics)
    return Progress(stepped.step, epoch, metrics, stepped.origin)


def check_named_file(path: str, shown: str, check_file: CheckFile) -> FileVerdict:
    """Check one file; the detail of a bad one begins with ``shown``, its name. Raises nothing."""
    try:
        verdict = check_file(path)
    except OSError as error:
        return FileVerdict("unverifiable", f"{shown} cannot be read: {error.strerror}")
    if verdict.state == "ok":
        return verdict
    return FileVerdict(verdict.state, f"{shown}: {verdict.detail}", verdict.format)


def first_gap(numbers: set[int], of: int = 0) -> int | None:
    """The smallest missing rank, counted from 0; ``of``: how many there should be, if known."""
    count = max(len(numbers), min(of, MOST_FILES))
    return next((n for n in range(count) if n not in numbers), None)


def one_detail(said: str, more: str) -> str:
    """The details of one level and of the next, joined with ``; ``, each remark once."""
    first = [text for text in said.split("; ") if text and text not in more]
    return "; ".join([*first, more] if more else first)
