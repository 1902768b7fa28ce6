"""The verdict on a finished log: finished, failed or cut, and the root cause of a failure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePath
from typing import Any

from middlewatch.sentinels.kit import Finding, LogEvent, Severity, View
from middlewatch.sentinels.kit.classes import COLLECTIVE, row, which
from middlewatch.sentinels.kit.troubles import BETWEEN, Troubles

from .completion import Completion

__all__ = ["Completion", "Ending", "LogTrouble", "LogTroubles", "judge"]

SIGKILL = 9
_USAGE = re.compile(r"(?P<name>[\w.-]{1,80}\.py): error: ")
SIDE_EFFECTS = which(lambda c: c.side_effect)
_ENDINGS = ("python_exception", "process_killed", "rank_failed", "shm_exhausted")
FAILS = which(lambda c: not c.teardown or c.name in _ENDINGS)
"""What is a failure after the end of training as well, whatever the log claimed before it: anything but errors
of the connections and workers of a program that leaves."""
WAITS = COLLECTIVE | {"rendezvous_failed"}
"""Errors of a process that waits for another one."""
AT_ONCE = 10
"""Lines between the exception that ended a start and the first one of the next: what a job script says between them."""
LOST = which(lambda c: c.result_lost)
UNWRITTEN = frozenset(("disk_full", "ckpt_write_failed", "io_error", "tracker_write_failed"))
"""What a full file system explains."""


@dataclass(slots=True)
class LogTrouble:
    """One trouble of the log: its first and its newest finding."""

    sentinel: str
    first: Finding
    newest: Finding
    order: int
    """Its place in the order in which troubles were found."""
    over: bool = False
    """Its sentinel does not find it any more."""

    @property
    def details(self) -> dict[str, Any]:
        """Those of the first finding, whose place in the log is told; only the count is that of the newest."""
        found = {
            k: v for k, v in {**self.newest.details, **self.first.details}.items() if v is not None
        }
        if "count" in self.newest.details:
            found["count"] = self.newest.details["count"]
        return found


class LogTroubles:
    """All troubles of a log, each once, though sentinels report them again in every round."""

    def __init__(self) -> None:
        self._troubles: dict[tuple[str, str, str], LogTrouble] = {}

    def __bool__(self) -> bool:
        return bool(self._troubles)

    def add_findings(self, found: Sequence[tuple[str, Finding]]) -> bool:
        """Take the (sentinel, finding) pairs of one round; True when a trouble is new.

        A trouble that turns out to be of another class (a spike that does not come back)
        stays the same trouble.
        """
        news = False
        reported = {(sentinel, finding.key, finding.trouble) for sentinel, finding in found}
        for sentinel, finding in found:
            key = (sentinel, finding.key, finding.trouble)
            trouble = self._troubles.get(key)
            if trouble is None:
                news = True
                before = self._replaced(sentinel, finding.key, reported)
                trouble = LogTrouble(sentinel, finding, finding, len(self._troubles))
                if before is not None:
                    trouble = self._troubles.pop(before)
                self._troubles[key] = trouble
            trouble.newest, trouble.over = finding, False
            if _role(trouble.first) != "root" and _role(finding) == "root":
                trouble.first = finding  # the earlier finding was fallout of this one
            elif finding.details.get("handled") and not trouble.first.details.get("handled"):
                trouble.first = finding  # the earlier one led the program another way, which failed
        for key in self._troubles.keys() - reported:
            self._troubles[key].over = True
        return news

    def _replaced(
        self, sentinel: str, key: str, reported: set[tuple[str, str, str]]
    ) -> tuple[str, str, str] | None:
        """The known trouble of this sentinel and key that is not among ``reported``."""
        for known in self._troubles:
            if known[:2] == (sentinel, key) and known not in reported:
                return known
        return None

    def all(self) -> list[LogTrouble]:
        """All troubles, ordered by the line where they first show."""
        return sorted(self._troubles.values(), key=lambda t: (t.first.line, t.order))


def _role(finding: Finding) -> object:
    return finding.details.get("role", "root")


@dataclass(frozen=True, slots=True)
class Ending:
    """How the run ended, as in the ``end`` record."""

    verdict: str
    """``finished``, ``failed`` or ``cut``."""
    cause: str | None
    """Class of the root cause, where the verdict is ``failed``."""
    finished_line: int | None
    newest_start: int = 0
    """The line where the newest start of the log begins, of which the verdict is; 0 where there is one only."""
    ran_on: int | None = None
    """The line where the program came to the end of its plan all the same: a loss that is no number stops none."""


def judge(
    troubles: Iterable[LogTrouble],
    progress: Completion,
    view: View,
    *,
    ordered: bool = True,
    newest_start: int = 0,
) -> Ending:
    """The verdict over all troubles of a log. ``ordered``: the order of its lines is that of the run. Where
    the logs of several ranks are not, it is not known what came after a claim of the end: then only what
    was not saved counts. ``newest_start``: the line where the newest start of the log begins: what came before it
    is of others."""
    known = list(troubles)
    newest = [t.newest for t in known]
    # a loss that is a number again, and stays one, has not cost the run
    lasting = [t.newest for t in known if not (t.over and row(t.newest.trouble).numbers)]
    fatal = [f for f in lasting if f.fatal and f.severity >= Severity.WARNING]
    newest_start = _proven(newest_start, fatal, view)
    fatal = [f for f in fatal if f.line >= newest_start]
    end = progress.finished_line(view) or (None if fatal else progress.closed_line(view))
    if end is not None and end < newest_start:
        end = None  # an earlier start came to its end
    if end is not None:
        fatal = [
            f for f in fatal if row(f.trouble).numbers or not progress.came_through(view, f.line)
        ]
        counts = LOST if not ordered and progress.done_line is not None else FAILS
        # The words with which the log ends are none of a program that leaves; after it has taken its leave, the
        # end of its workers is.
        last = progress.error_line
        fatal = [
            f
            for f in fatal
            if f.line <= end
            or f.trouble in counts
            or (
                f.line == last
                and f.trouble not in COLLECTIVE
                and not (progress.done_line and row(f.trouble).fallout)
            )
        ]
    cause = _root(fatal, max(_begun_again(view), _of_others(fatal)))
    if cause is not None:
        ran_on = end if row(cause).numbers else None
        return Ending("failed", _behind(cause, newest), None, ran_on=ran_on)
    return Ending("cut" if end is None else "finished", None, end, newest_start)


def ended_a_start(one: Finding) -> bool:
    """Whether this exception certainly ended the program that raised it."""
    details = one.details
    return bool(details.get("script")) or (
        one.trouble == "launch_error" and "traceback_line" in details
    )


def _proven(begun: int, fatal: Sequence[Finding], view: View) -> int:
    """The line at which a new start seems to have begun, if one had ended there and this one has not failed; else 0.

    The ranks of one start say the same as well, but none of them below the end of all."""
    ends = (f.line for f in fatal if ended_a_start(f))
    ended = any(0 < begun - line <= AT_ONCE for line in ends)
    failed = any(e.fatal and e.line >= begun for e in view.events)
    return begun if ended and not failed else 0


def says_more(error: LogEvent, ending: Ending, troubles: Sequence[LogTrouble]) -> bool:
    """Whether the error with which a log ends tells more than what is known: that it failed, a class that is
    exact, or what it was where only its fallout is known."""
    if ending.verdict != "failed" or ending.cause is None:
        return True
    if not row(ending.cause).side_effect:
        return False
    if any(t.newest.details.get("chain_ends") == error.line for t in troubles):
        return False  # it only passes on the exception with which its chain began
    of_cause = [t.first for t in troubles if t.newest.trouble == ending.cause]
    known = any(_role(f) == "root" or "traceback_line" in f.details for f in of_cause)
    return not row(error.trouble).side_effect or (not known and error.trouble == ending.cause)


def unwritten(troubles: Iterable[LogTrouble]) -> bool:
    """Whether something could not be written, so that a full file system in the log explains it."""
    return any(t.newest.fatal and t.newest.trouble in UNWRITTEN for t in troubles)


def _begun_again(view: View) -> int:
    """The last line that shows that the run was started again; 0 for none."""
    troubles = view.accumulator(Troubles)
    return 0 if troubles is None else max(troubles.begun_again.values(), default=0)


def _of_others(fatal: Sequence[Finding]) -> int:
    """The last line of the starts before the newest one, by the exceptions that ended the same script; 0 for none."""
    through = [f for f in fatal if _program(f) and f.details.get("rank") is None]
    found = 0
    for before, after in pairwise(sorted(through, key=lambda f: f.line)):
        head = after.details.get("traceback_line", after.line)
        same = _program(before) == _program(after)
        if same and isinstance(head, int) and head - before.line > BETWEEN:
            found = before.line
    return found


def _program(one: Finding) -> str:
    """The name of the script that this ended: its exception went through the top, or its parser of arguments says so."""
    if script := one.details.get("script"):
        return PurePath(str(script)).name
    usage = _USAGE.match(one.evidence[0].text) if one.evidence else None
    return usage["name"] if usage else ""


def _root(fatal: list[Finding], begun_again: int) -> str | None:
    """The class of the root cause: of the last attempt, exact classes before fallout, the first."""
    if not fatal:
        return None
    exact = [
        f
        for f in fatal
        if f.trouble not in SIDE_EFFECTS
        and not (_follows(f, fatal) or _outlived(f, fatal) or _taken_down(f, fatal))
    ]
    roots = [f for f in exact if _role(f) == "root"] or exact
    own = [f for f in roots if f.trouble not in WAITS]
    if own:
        return _first([f for f in own if f.line > begun_again] or own)
    if roots:
        # All are errors of ranks that wait for another: a rank that was killed, or an exception before
        # them, is the cause.
        dead = next((f for f in fatal if f.trouble == "rank_failed"), None)
        if dead is not None and dead.details.get("signal") == SIGKILL:
            return "process_killed"
        first = min(f.line for f in roots)
        raised = [f for f in fatal if f.trouble == "python_exception" and f.line < first]
        return _first(raised or roots)
    # There are only side effects: a kill says more than a dead rank.
    return min(fatal, key=lambda f: (f.trouble == "rank_failed", f.line)).trouble


def _follows(end: Finding, fatal: Sequence[Finding]) -> bool:
    """Whether an exception had come before what is only its consequence: a crash while the program is taken down,
    after the exception had gone through the top of its script; a worker that ended with status 1, as Python
    does with an exception."""
    before = (f for f in fatal if f.trouble == "python_exception" and f.line < end.line)
    if end.trouble == "segfault":
        return any(f.details.get("script") for f in before)
    return (
        end.trouble == "dataloader_worker_killed" and "exit code 1" in end.summary and any(before)
    )


def _taken_down(one: Finding, fatal: Sequence[Finding]) -> bool:
    """Whether the scheduler cancelled the step only because a task of it had ended: srun says so right before."""
    ended = [
        f.line
        for f in fatal
        if f.trouble == "rank_failed" and any("srun: error" in e.text for e in f.evidence)
    ]
    # torchrun has told of it before, and the two are one trouble
    newest = (f.details for f in fatal if f.trouble == "rank_failed")
    ended += [
        int(str(d["newest_line"])) for d in newest if "srun: error" in str(d.get("newest_text", ""))
    ]
    return one.trouble == "slurm_cancelled" and any(
        0 < one.line - line <= AT_ONCE for line in ended
    )


def _outlived(one: Finding, fatal: Sequence[Finding]) -> bool:
    """Whether a Ctrl-C stopped something else in the terminal of the job: the scheduler ended the job later."""
    later = (f.trouble for f in fatal if f.line > one.line)
    return one.trouble == "interrupted" and any(
        t in ("slurm_time_limit", "preempted") for t in later
    )


def _behind(cause: str, found: Iterable[Finding]) -> str:
    """What explains the cause, if the log shows it as well: a failed save on a disk that is full."""
    exact = (f.trouble for f in found if f.severity >= Severity.WARNING)
    # "no space" is what the system says without inodes, too
    behind = ("inode_exhausted",) if cause == "disk_full" else row(cause).part_of
    return next((name for name in exact if name in behind), cause)


def _first(among: Iterable[Finding]) -> str:
    return min(among, key=lambda f: (f.line, row(f.trouble).rank)).trouble
