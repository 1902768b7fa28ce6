"""What the mirror gets of the runs, and what they learn from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..mirror.source import MirrorSource, RunCheckpoints
from ..mirror.trees import RunFolders, TreesSource
from ..system.source import Source
from .context import Context
from .watched_run import WatchedRun


def sources(context: Context, publish: Callable[[WatchedRun], None]) -> Iterator[Source]:
    """The sources that copy what the runs of the box leave, as the configuration wants it.

    ``publish`` writes the files of a run: the mirror started, finished or gave up one of its copies.
    """
    settings, home = context.config.mirror, context.state.root

    def copied(run: str) -> None:
        if run in context.runs:
            publish(context.runs[run])

    def behind(run: str, trees: list[dict[str, Any]]) -> None:
        if run in context.runs:
            context.runs[run].trees = trees

    if settings.to:
        yield MirrorSource(
            settings,
            lambda: [checkpoints_of(run) for run in context.runs.values()],
            copied,
            str(home / "mirror.json"),
        )
    if settings.also:
        yield TreesSource(
            settings, lambda: [folders_of(run) for run in context.runs.values()], behind, str(home)
        )


def checkpoints_of(run: WatchedRun) -> RunCheckpoints:
    """The checkpoints of a run."""
    spec = run.spec
    return RunCheckpoints(
        spec.id,
        spec.id.rpartition("-")[0],
        spec.whole_dirs(),
        run.index,
        run.copies,
        not run.alive,
        _saving_at(run),
    )


def folders_of(run: WatchedRun) -> RunFolders:
    """Where the other results of a run lie."""
    spec = run.spec
    inside = f"/proc/{spec.pid}/root" if spec.container and spec.pid else ""
    return RunFolders(
        spec.id,
        spec.id.rpartition("-")[0],
        f"{inside}{spec.cwd}" if spec.cwd else "",
        spec.checkpoint_dirs,
        None if run.alive else run.ended_at or 0.0,
        _saving_at(run),
    )


def _saving_at(run: WatchedRun) -> float | None:
    return run.history.saving_at if run.alive else None
