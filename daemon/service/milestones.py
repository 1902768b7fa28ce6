"""Every milestone is loaded once, by torch itself: the highest of the four levels.

One at a time for all runs, in a child of the lowest priority. A milestone is what a person goes back to after weeks,
when nothing else is left to go back to; for every save the memory and the time of a load would be too much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from middlewatch.sentinels.kit import Observation

from ..config.run_spec import RunSpec
from ..sources.told_verdicts import ToldVerdict
from ..system.clock import epoch
from ..system.source import Source
from ..system.worker import JsonWorker, module_argv
from .context import Context
from .told_saves import take_verdicts

LOADER_ARGV = module_argv("middlewatch.daemon.checkpoints.load.worker")
DEADLINE_S = 6 * 3600.0
"""Seconds for one load, which has deadlines of its own by the size of each file. Ours is against a child that is
stuck in the kernel: 400 GB at the 20 MB/s that are expected at least."""
_READ = ("checksum", "finite")
"""Levels from which on it is loaded: all of it was read and nothing was found."""

Saved = tuple[str, str]
"""Path of a checkpoint, and when it was saved."""


class MilestoneLoads(Source):
    """Asks for a load of each milestone that was read in full, and hands on what torch says."""

    name = "milestones"
    every_s = 5.0
    answers_later = True

    def __init__(
        self, context: Context, log_line: Callable[[str], None], worker: JsonWorker | None = None
    ) -> None:
        self._context = context
        self._log_line = log_line
        self._worker = worker or JsonWorker(LOADER_ARGV, DEADLINE_S, walls="loads", can_wait=True)
        self._asked: dict[str, Any] = {}
        """Entry of the one that is being loaded."""
        self._tried: dict[Saved, None] = {}
        self._seen: dict[str, Any] = {}
        """Run -> the index in which nothing is left to load."""

    def fds(self) -> Iterable[int]:
        """The answers of the child, while there is one."""
        fd = self._worker.fileno()
        return () if fd is None else (fd,)

    def read(self, now: float) -> Iterable[Observation]:
        """Ask for the next one, if there is one."""
        mono = self._context.clock.monotonic()
        if self._worker.overdue(mono) > 0:
            self._worker.restart()
        if not self._worker.waiting:
            found = self._next()
            if found is not None:
                entry, spec = found
                question = {"path": entry["path"], "run": _slim(spec).to_json()}
                if self._worker.ask(question, mono):
                    self._asked = entry
                    self._tried[entry["path"], entry["saved_at"]] = None
        return ()

    def ready(self, fd: int, now: float) -> Iterable[Observation]:
        """Take what torch said."""
        for answer in self._worker.answers():
            entry, self._asked = self._asked, {}
            if entry and answer.get("path") == entry["path"]:
                self._take(entry, answer)
        return ()

    def close(self) -> None:
        """End the child."""
        self._worker.close()

    def _next(self) -> tuple[dict[str, Any], RunSpec] | None:
        runs = self._context.runs
        self._seen = {run: index for run, index in self._seen.items() if run in runs}
        for run, watched in runs.items():
            index = watched.index
            if self._seen.get(run) is index or watched.spec.container:
                continue
            for entry in reversed(index["checkpoints"]):
                if self._is_due(entry):
                    return entry, watched.spec
            self._seen[run] = index
        return None

    def _is_due(self, entry: dict[str, Any]) -> bool:
        verified = entry["verified"]
        return (
            "milestone" in entry["tags"]
            and verified["state"] == "ok"
            and verified["level"] in _READ
            and entry.get("digest") is not None
            and (entry["path"], entry["saved_at"]) not in self._tried
        )

    def _take(self, entry: dict[str, Any], answer: dict[str, Any]) -> None:
        detail = str(answer.get("detail") or "")
        bad = answer.get("state") == "corrupt"
        if not bad and answer.get("whole") is not True:
            self._log_line(f"{entry['path']} is a milestone: {detail or 'it was not loaded'}")
            return
        told = ToldVerdict(
            (entry["path"],),
            entry["bytes"],
            epoch(entry["saved_at"]),
            "corrupt" if bad else "ok",
            "load",
            "; ".join(text for text in (entry["verified"]["detail"], detail) if text),
            entry["digest"],
        )
        take_verdicts(self._context, [told])


def _slim(spec: RunSpec) -> RunSpec:
    """What is needed to find its Python: a question has a limit."""
    return replace(
        spec,
        ranks=spec.ranks[:4],
        command=spec.command[:6],
        env_names=(),
        logs=(),
        log_via={},
        checkpoint_dirs=(),
        save_folders=(),
        notes=(),
    )
