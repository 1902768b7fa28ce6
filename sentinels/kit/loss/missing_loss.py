"""Reports that used to have a loss and now have none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..accumulator import LoggedValue
from ..observations import LogEvent, Step

WORDINGS = 16
"""Forms of reports kept of a file, and streaks kept of a run. A form is the metric names of a
report, in order."""
USUAL = 2
"""Reports of a form with a loss that must have come before one without the loss counts."""


@dataclass(slots=True)
class Missing:
    """Consecutive reports of a known form that lack their loss."""

    file: str
    first: LoggedValue
    last: LoggedValue
    count: int
    skipped: bool
    """True when all these reports say that the step was skipped."""
    scaled: bool
    """True when the first of them has a loss scale, as with Megatron: one report is enough then."""
    over: bool = False


class ReportForms:
    """The forms of the reports of each file, and which of them have a loss."""

    def __init__(self) -> None:
        self.missing: list[Missing] = []
        self._forms: dict[str, dict[tuple[str, ...], int]] = {}
        """File -> form -> number of reports with a loss; 0 for forms that never had one."""
        self._before: dict[str, set[tuple[str, ...]]] = {}
        """File without any loss yet -> its forms: those are no reports that have lost theirs."""
        self._gone: dict[str, Missing] = {}

    def knows(self, file: str) -> bool:
        """True for a file in which some report had a loss."""
        return file in self._forms

    def whole(self, seen: Step, values: Mapping[str, float]) -> None:
        """Take in a report with its loss: remember its form, and end a streak."""
        forms = self._forms.get(seen.file)
        names = tuple(values)
        if forms is None:
            forms = self._forms[seen.file] = dict.fromkeys(self._before.pop(seen.file, ()), 0)
        count = forms.get(names, 0)
        if count or len(forms) < WORDINGS:
            forms[names] = count + 1
        if self._gone:
            gone = self._gone.pop(seen.file, None)
            if gone is not None:
                gone.over = True

    def early(self, seen: Step) -> None:
        """Take in a report of a file in which no report had a loss yet."""
        if seen.file in self._before or len(self._before) < WORDINGS:
            forms = self._before.setdefault(seen.file, set())
            if len(forms) < WORDINGS:
                forms.add(tuple(seen.values))

    def without(self, seen: Step) -> None:
        """Take in a report without a loss, with a step or epoch: it counts only if its form used to
        have a loss."""
        if seen.number is None and seen.epoch is None:
            return
        names = tuple(seen.values)
        forms = self._forms[seen.file]
        if forms.get(names) == 0:
            return  # such reports were there from the beginning
        if not any(n >= USUAL and _lacks_loss(form, names) for form, n in forms.items()):
            if len(forms) < WORDINGS:
                forms[names] = 0
            return
        skipped = any(v > 0 for n, v in seen.values.items() if "skipped" in n.lower())
        scaled = "loss_scale" in seen.values
        self._count(seen.file, LoggedValue.of(seen, 0.0), skipped=skipped, scaled=scaled)

    def said(self, event: LogEvent) -> None:
        """Take in a line whose loss is ``null``: it counts only if the loss used to be a number."""
        forms = self._forms.get(event.file)
        if forms is None or max(forms.values()) < USUAL:
            return
        gone = self._gone.get(event.file)
        if gone is None or gone.last.line != event.line:
            mark = LoggedValue(event.at, None, event.line, 0.0)
            self._count(event.file, mark, skipped=False, scaled=False)

    def _count(self, file: str, mark: LoggedValue, *, skipped: bool, scaled: bool) -> None:
        gone = self._gone.get(file)
        if gone is None:
            gone = self._gone[file] = Missing(file, mark, mark, 1, skipped, scaled)
            if len(self.missing) < WORDINGS:
                self.missing.append(gone)
        elif gone.last.line != mark.line or not mark.line:
            gone.count += 1
            gone.last = mark
            gone.skipped = gone.skipped and skipped


def _lacks_loss(form: tuple[str, ...], names: tuple[str, ...]) -> bool:
    """True when ``names`` is ``form`` without its loss, perhaps with the end missing.

    The value that follows the loss must be there, as otherwise the line may just be cut off.
    """
    at = form.index("train_loss")
    rest = form[:at] + form[at + 1 :]
    return len(names) > at and len(names) >= 2 and rest[: len(names)] == names
