"""Hints: what a line may match; and the signatures that it does match.

The hints of a line come from the atoms in it, all found in one search. They miss nothing: a line
without a hint matches no signature, announces no phase, claims no checkpoint and does not begin a
traceback. Atoms have no digits, so the hints of a line hold for its whole shape and are kept with
it. A pattern is compiled when the first line with a hint for it comes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from . import phases
from .prefilter import AtomIndex, atoms
from .signatures import SIGNATURES, Signature
from .tracebacks import OPENINGS

_PHASE = len(SIGNATURES)
_SAVED = _PHASE + len(phases.PHASES)
_TRACE = _SAVED + 1

_NUMBERS = frozenset({"rank", "gpu", "xid", "exitcode", "signal", "pid", "count"})
_SIZES = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SIGNALS = {"Killed": 9, "Bus error": 7, "Segmentation fault": 11, "Aborted": 6, "Terminated": 15}
_SIGNAL_NAMES = {
    "SIGKILL": 9,
    "SIGBUS": 7,
    "SIGSEGV": 11,
    "SIGABRT": 6,
    "SIGTERM": 15,
    "SIGHUP": 1,
    "SIGINT": 2,
}


@dataclass(frozen=True, slots=True)
class Hints:
    """The patterns that have to be tried on a line."""

    rows: tuple[int, ...]
    """Indices of signatures, in order."""
    phases: tuple[int, ...]
    """Indices of phases, in order."""
    saved: bool
    """It may claim that a checkpoint was saved."""
    trace: bool
    """It may begin a traceback, or announce one."""


NONE = Hints((), (), False, False)


def _index() -> AtomIndex:
    ids: dict[str, list[int]] = {}
    asked = [atoms(row.pattern, row.narrow) for row in SIGNATURES]
    asked += [atoms(phase.pattern, phase.narrow) for phase in phases.PHASES]
    asked.append(tuple({a for claim in phases.SAVED for a in atoms(*claim)}))
    asked.append(tuple({a for opening in OPENINGS for a in atoms(opening)}))
    for i, texts in enumerate(asked):
        for atom in texts:
            ids.setdefault(atom, []).append(i)
    return AtomIndex(ids)


INDEX = _index()
"""One for all logs, as their words are mostly the same."""


def hints_of(line: bytes) -> Hints:
    """The hints of a line, which hold for every line of its shape."""
    found = INDEX.find(line)
    if not found:
        return NONE
    ids = sorted(found)
    return Hints(
        rows=tuple(i for i in ids if i < _PHASE),
        phases=tuple(i - _PHASE for i in ids if _PHASE <= i < _SAVED),
        saved=_SAVED in found,
        trace=_TRACE in found,
    )


@cache
def _pattern(index: int) -> re.Pattern[str]:
    return re.compile(SIGNATURES[index].pattern)


def candidates(text: str) -> tuple[int, ...]:
    """Indices of the signatures that a text may match, in order."""
    return hints_of(text.encode("utf-8", "surrogateescape")).rows


_QUANTIFIER = re.compile(r"\{(\d*)(?:,\d*)?\}")
_NEGATED = re.compile(r"\(\?<?!")


@cache
def _asks_which_digits(index: int) -> bool:
    """Whether a pattern may match one line and not another that differs only in its digits.

    It cannot if it has no digit in it, no quantifier above 1, and no negative look-around.
    """
    pattern = SIGNATURES[index].pattern
    counts = any(int(m[1] or 0) > 1 for m in _QUANTIFIER.finditer(pattern))
    plain = _QUANTIFIER.sub("", pattern).replace(r"\d", "").replace("0-9", "")
    return counts or any(map(str.isdigit, plain)) or bool(_NEGATED.search(pattern))


def may_match(shape: str, index: int) -> bool:
    """False where no line of a shape (its numbers written as ``0``) matches the signature."""
    return _asks_which_digits(index) or _pattern(index).search(shape) is not None


def matches(text: str, rows: Iterable[int]) -> list[tuple[Signature, dict[str, object]]]:
    """(signature, details) of every signature that matches: at most one per class."""
    found: list[tuple[Signature, dict[str, object]]] = []
    classes: set[str] = set()
    for index in rows:
        row = SIGNATURES[index]
        if row.trouble in classes:
            continue
        match = _pattern(index).search(text)
        if match is not None:
            classes.add(row.trouble)
            found.append((row, _details(match)))
    return found


def _details(match: re.Match[str]) -> dict[str, object]:
    details: dict[str, object] = {}
    for group, value in match.groupdict().items():
        if value is None:
            continue
        name = group.partition("_")[0]
        if name == "requested":
            details["requested_bytes"] = _bytes(value)
        elif name == "signal":
            number = _SIGNALS.get(value) or _SIGNAL_NAMES.get(value)
            if number is not None:
                details["signal"] = number
        elif name == "code":
            details["exitcode"] = int(value)
        elif name == "scale":
            details["loss_scale"] = _float(value)
        elif name in _NUMBERS and value.lstrip("-").isdigit():
            details[name] = int(value)
        else:
            details[group] = value
    exitcode = details.get("exitcode")
    if isinstance(exitcode, int) and exitcode < 0:
        details["signal"] = -exitcode
    return details


def _float(text: str) -> float | str:
    try:
        return float(text.rstrip("."))
    except ValueError:
        return text


def _bytes(text: str) -> int:
    number = re.match(r"[\d.]+", text)
    unit = text.lstrip("0123456789. ")[:1]
    try:
        return int(float(number[0]) * _SIZES.get(unit, 1)) if number else 0
    except ValueError:
        return 0
