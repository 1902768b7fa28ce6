"""The contract of a sentinel, and how the folder becomes the list of rules."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from .accumulator import Accumulator
from .classes import row
from .findings import Finding
from .handbook import HandbookPage, parse
from .view import View


@dataclass(frozen=True, slots=True)
class Sentinel:
    """A pure rule with its limits.

    ``check(view, limits)`` says what is wrong *in this view*: it is asked again and
    again, and while the trouble lasts it must say it again. A trouble that it no longer
    mentions for ``clears_after_s`` seconds is resolved by the daemon.
    """

    check: Callable[[View, Any], Iterable[Finding]]
    limits: Any
    on: tuple[type, ...]
    """Observation types that make it worth asking. It is asked once a second as well
    when ``every_tick`` is set, because silence brings no observation."""
    every_tick: bool = False
    clears_after_s: float = 60.0
    accumulators: tuple[type[Accumulator], ...] = ()
    """What it reads of :meth:`View.ledger`. While all of them are quiet it is not asked: it
    could not say anything."""
    also_reads: tuple[type[Accumulator], ...] = ()
    """Accumulators that it reads as well, and that give nobody a reason to be asked or not."""
    name: str = ""

    def __call__(self, view: View, limits: Any = None) -> list[Finding]:
        """All findings of this view, under the default limits unless others are given.

        Raises UnknownClass for one of a class that has no row.
        """
        found = list(self.check(view, self.limits if limits is None else limits))
        for finding in found:
            row(finding.trouble, self.name)
        return found


def discover() -> dict[str, Sentinel]:
    """Every sentinel of the folder by name (= module name = configuration section).

    Raises UnknownClass where one tells of a class that has no row.
    """
    package = sys.modules[__name__.rpartition(".kit.")[0]]
    return dict(sorted(_walk(package.__name__, package.__path__)))


def _walk(package: str, path: Iterable[str]) -> Iterator[tuple[str, Sentinel]]:
    for info in pkgutil.iter_modules(path):
        if not info.ispkg:
            yield info.name, _load(package, info.name)


@cache
def _load(package: str, name: str) -> Sentinel:
    module = importlib.import_module(f"{package}.{name}")
    told = parse(name, module.__doc__ or "").classes
    for trouble in (*told, *getattr(module, "CLASSES", ())):
        row(trouble, f"sentinels/{name}.py")
    sentinel: Sentinel = module.SENTINEL
    return replace(sentinel, name=name)


@cache
def accumulators() -> tuple[type[Accumulator], ...]:
    """Every kind of accumulator that some sentinel reads."""
    return tuple(
        dict.fromkeys(
            kind for s in discover().values() for kind in (*s.accumulators, *s.also_reads)
        )
    )


def handbook() -> dict[str, HandbookPage]:
    """How every sentinel decides, parsed from its module docstring. What to do about a class is
    in the package of that name: one page for each."""
    package = __name__.rpartition(".kit.")[0]
    entries = {}
    for name in discover():
        module = sys.modules[f"{package}.{name}"]
        entries[name] = parse(name, module.__doc__ or "")
    return entries
