"""What is known about the lines of one shape (digits blotted out), worked out once."""

from __future__ import annotations

from dataclasses import dataclass

from .last_block import is_frame
from .last_error import says_error
from .numbers import tables
from .numbers.metrics import LineReport
from .numbers.plans import LinePlan


@dataclass(slots=True)
class ShapeFacts:
    """What is known about lines of one shape."""

    rows: tuple[int, ...] = ()
    phases: tuple[int, ...] = ()
    saved: bool = False
    trace: bool = False
    code: bool = False
    header: tables.Header | None = None
    row: bool = False
    """Its meaning depends on the table header."""
    report: LineReport | None = None
    plan: LinePlan | None = None
    """How to read the numbers of the report, if the line is nothing but a report."""


def is_row(known: ShapeFacts | None) -> bool:
    """Whether the meaning of the line depends on a table header."""
    return known is not None and known.row


CODE = ShapeFacts(code=True)
ROW = ShapeFacts(row=True)
UNSEEN = ShapeFacts()


def counting(report: LineReport | None, text: str) -> LineReport | None:
    """The report, unless its numbers are places in a stack or stand in an error: "Error: ragged batch 17"."""
    if report is None or report.measured or report.bar:
        return report
    return None if is_frame(text) or (report.head and says_error(text, words=False)) else report
