"""How a finished log ended: finished, failed or cut, and the root among its troubles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from middlewatch.sentinels.kit import Finding, Severity, View
from middlewatch.sentinels.kit.classes import COLLECTIVE, row, which
from middlewatch.sentinels.kit.troubles import Troubles

from .completion import Completion

__all__ = ["Completion", "Ending", "LogTrouble", "LogTroubles", "judge"]

SIDE_EFFECTS = which(lambda c: c.side_effect)
TEARDOWN = which(lambda c: c.teardown)
LOST_AT_THE_END = which(lambda c: c.result_lost)


@dataclass(slots=True)
class LogTrouble:
    """One trouble of the log: its first finding, and how it stands at the end."""

    sentinel: str
    first: Finding
    newest: Finding
    order: int


class LogTroubles:
    """All troubles of a log, each once, as rules tell them again and again."""

    def __init__(self) -> None:
        self._told: dict[tuple[str, str, str], LogTrouble] = {}

    def __bool__(self) -> bool:
        return bool(self._told)

    def add_findings(self, found: Sequence[tuple[str, Finding]]) -> bool:
        """(sentinel, finding) of one round; True when there is a new one among them.

        A trouble that turns out to be of another class (a spike that does not come back)
        stays the same trouble.
        """
        news = False
        said = {(sentinel, finding.key, finding.trouble) for sentinel, finding in found}
        for sentinel, finding in found:
            key = (sentinel, finding.key, finding.trouble)
            told = self._told.get(key)
            if told is None:
                news = True
                before = self._given_way(sentinel, finding.key, said)
                told = LogTrouble(sentinel, finding, finding, len(self._told))
                if before is not None:
                    told = self._told.pop(before)
                self._told[key] = told
            told.newest = finding
            if _role(told.first) != "root" and _role(finding) == "root":
                told.first = finding  # what came before it was its fallout
        return news

    def _given_way(
        self, sentinel: str, key: str, said: set[tuple[str, str, str]]
    ) -> tuple[str, str, str] | None:
        for known in self._told:
            if known[:2] == (sentinel, key) and known not in said:
                return known
        return None

    def all(self) -> list[LogTrouble]:
        """By the line where they first show."""
        return sorted(self._told.values(), key=lambda t: (t.first.line, t.order))


def _role(finding: Finding) -> object:
    return finding.details.get("role", "root")


@dataclass(frozen=True, slots=True)
class Ending:
    """What the `end` record says."""

    verdict: str
    """``finished``, ``failed`` or ``cut``."""
    cause: str | None
    """Root class, where the verdict is ``failed``."""
    finished_line: int | None


def judge(told: Iterable[LogTrouble], progress: Completion, view: View) -> Ending:
    """The verdict over all troubles of a log."""
    stands = (t.newest for t in told)
    fatal = [f for f in stands if f.fatal and f.severity >= Severity.WARNING]
    end = progress.finished_line(view)
    if end is not None:
        claimed = progress.done_line is not None
        fatal = [f for f in fatal if f.line <= end or _still_counts(f, claimed=claimed)]
    cause = _root(fatal, _begun_again(view))
    if cause is not None:
        return Ending("failed", cause, None)
    return Ending("cut" if end is None else "finished", None, end)


def _still_counts(fatal: Finding, *, claimed: bool) -> bool:
    """True for what is no noise of a program that takes itself apart after its end.

    What was not saved is lost after the last step too. A program that does not even say
    (``claimed``) that it is done may have failed in what it does last.
    """
    if claimed:
        return fatal.trouble in LOST_AT_THE_END
    return fatal.trouble not in TEARDOWN


def _begun_again(view: View) -> int:
    """The line after which the log tells of another attempt; 0 for none."""
    troubles = view.accumulator(Troubles)
    return 0 if troubles is None else max(troubles.begun_again.values(), default=0)


def _root(fatal: list[Finding], begun_again: int) -> str | None:
    """The root class: of the last attempt, exact before fallout, then the first."""
    if not fatal:
        return None
    exact = [f for f in fatal if f.trouble not in SIDE_EFFECTS]
    roots = [f for f in exact if _role(f) == "root"] or exact
    own = [f for f in roots if f.trouble not in COLLECTIVE]
    if own:
        return _first([f for f in own if f.line > begun_again] or own)
    if roots:
        # Ranks that wait for one that raised an exception are not what happened.
        first = min(f.line for f in roots)
        raised = [f for f in fatal if f.trouble == "python_exception" and f.line < first]
        return _first(raised or roots)
    # of side effects alone, the one that says more: a kill names more than a dead rank
    return min(fatal, key=lambda f: (f.trouble == "rank_failed", f.line)).trouble


def _first(among: Iterable[Finding]) -> str:
    return min(among, key=lambda f: (f.line, row(f.trouble).rank)).trouble
