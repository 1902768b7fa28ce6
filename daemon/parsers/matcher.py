"""Which signatures a line matches, at next to no cost for lines that match none.

A line (in lower case) that holds none of a signature's atoms cannot match it, and atoms have
no digits, so the candidates of a line are the same for its whole shape and are remembered
with it (:mod:`.hints`). Patterns are compiled when a first candidate line turns up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from .signatures import SIGNATURES, Signature

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


@cache
def _pattern(index: int) -> re.Pattern[str]:
    return re.compile(SIGNATURES[index].pattern)


def atoms() -> dict[str, list[int]]:
    """Every atom with the indices of the signatures that ask for it."""
    known: dict[str, list[int]] = {}
    for i, row in enumerate(SIGNATURES):
        for atom in row.atoms:
            known.setdefault(atom, []).append(i)
    return known


@cache
def _encoded_atoms() -> tuple[tuple[bytes, tuple[int, ...]], ...]:
    return tuple((atom.encode(), tuple(rows)) for atom, rows in atoms().items())


def candidates(text: str) -> tuple[int, ...]:
    """Indices of the signatures that one text may match, in order.

    The plain way, for a text that is looked at once; lines go through :mod:`.hints`.
    """
    low = text.encode("utf-8", "surrogateescape").lower()
    return tuple(sorted({i for atom, rows in _encoded_atoms() if atom in low for i in rows}))


_QUANTIFIER = re.compile(r"\{(\d*)(?:,\d*)?\}")
_NEGATED = re.compile(r"\(\?<?!")


@cache
def _asks_which_digits(index: int) -> bool:
    """The answer of a pattern may differ between lines that differ in their digits alone.

    A pattern that is no different for ``7`` and ``1234`` names no digit, counts none, and
    denies nothing within a bounded distance.
    """
    pattern = SIGNATURES[index].pattern
    counts = any(int(m[1] or 0) > 1 for m in _QUANTIFIER.finditer(pattern))
    plain = _QUANTIFIER.sub("", pattern).replace(r"\d", "").replace("0-9", "")
    return counts or any(map(str.isdigit, plain)) or bool(_NEGATED.search(pattern))


def may_match(shape: str, index: int) -> bool:
    """False where no line of a shape (its numbers written as ``0``) matches the signature."""
    return _asks_which_digits(index) or _pattern(index).search(shape) is not None


def matches(text: str, rows: Iterable[int]) -> list[tuple[Signature, dict[str, object]]]:
    """(signature, details) of every trouble the text speaks of: one signature per class."""
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
