"""Reports that used to have a loss and come without one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..accumulator import LoggedValue
from ..observations import LogEvent, Step

WORDINGS = 16
"""Wordings of a file, and streaks of a run, that are kept apart."""
USUAL = 2
"""Reports in one wording, with a loss, before a report in it without one is strange."""


@dataclass(slots=True)
class Missing:
    """Reports in a known wording that lack their loss, in a row."""

    file: str
    first: LoggedValue
    last: LoggedValue
    count: int
    skipped: bool
    """The reports themselves say that the step was skipped."""
    scaled: bool
    """The reports speak of a loss scale, as those of Megatron do: one of them is enough."""
    over: bool = False


class ReportForms:
    """How the reports of each file are worded, and which of them have a loss."""

    def __init__(self) -> None:
        self.missing: list[Missing] = []
        self._forms: dict[str, dict[tuple[str, ...], int]] = {}
        """By file, wordings of reports with a loss (and how often), and 0 for those without."""
        self._gone: dict[str, Missing] = {}

    def knows(self, file: str) -> bool:
        """True for a file of which some report had a loss."""
        return file in self._forms

    def whole(self, seen: Step, values: Mapping[str, float]) -> None:
        """A report with its loss: remember its wording; what was missing is back."""
        forms = self._forms.get(seen.file)
        names = tuple(values)
        if forms is None:
            forms = self._forms[seen.file] = {}
        count = forms.get(names, 0)
        if count or len(forms) < WORDINGS:
            forms[names] = count + 1
        if self._gone:
            gone = self._gone.pop(seen.file, None)
            if gone is not None:
                gone.over = True

    def without(self, seen: Step) -> None:
        """A report with a place in the run and no loss: strange only if its wording used to
        have one."""
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
        """A line says that its loss is nothing (``null``): strange where it used to be a number."""
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
    """True when ``names`` is a report of this form without its loss, cut at its end or not.

    The value after the place of the loss must be there: a line can be cut short.
    """
    at = form.index("train_loss")
    rest = form[:at] + form[at + 1 :]
    return len(names) > at and len(names) >= 2 and rest[: len(names)] == names
