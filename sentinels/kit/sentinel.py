"""The interface of a sentinel, and how the sentinels of the folder are found."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from .accumulator import Accumulator
from .classes import Group, row
from .findings import Finding
from .handbook import HandbookPage, parse
from .recovery import OpenIncident
from .trials import trials_of
from .view import View


@dataclass(frozen=True, slots=True)
class Sentinel:
    """A pure rule with its limits.

    ``check(view, limits)`` reports what is wrong *in this view*. It is called again and again, and
    must report a trouble every time while it lasts. When it has not reported a trouble for
    ``clears_after_s`` seconds, the daemon asks ``recovered(view, limits, incident)`` what is well
    again, and resolves the incident once there are words for it.
    """

    check: Callable[[View, Any], Iterable[Finding]]
    limits: Any
    on: tuple[type, ...]
    """Observation types after which it is called. With ``every_tick`` it is also called once a
    second, to judge silence, which brings no observations."""
    every_tick: bool = False
    clears_after_s: float = 60.0
    recovered: Callable[[View, Any, OpenIncident], str] | None = None
    """Says what was seen to be well again, in words; empty when nothing was. ``None``: its troubles
    are for good, as the end of a run is."""
    accumulators: tuple[type[Accumulator], ...] = ()
    """Accumulators that it reads (:meth:`View.accumulator`). While all of them are quiet it is not
    called: it would have nothing to report."""
    also_reads: tuple[type[Accumulator], ...] = ()
    """Accumulators that it reads too, but that do not decide whether it is called."""
    name: str = ""

    def __call__(self, view: View, limits: Any = None) -> list[Finding]:
        """All findings in this view, with the default limits unless others are given.

        Raises UnknownClass for a finding of a class without a row.
        """
        found = list(self.check(view, self.limits if limits is None else limits))
        groups = [row(finding.trouble, self.name).group for finding in found]
        if found and trials_of(view) is not None:
            # What the numbers of a trial show is for its search; nan_loss knows how long.
            kept = zip(found, groups, strict=True)
            found = [f for f, g in kept if not g.numbers or g is Group.NOT_FINITE]
        return found


def discover() -> dict[str, Sentinel]:
    """Every sentinel of the folder by name (= module name = configuration section).

    Raises UnknownClass when a sentinel names a class without a row.
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
    """All accumulator classes that some sentinel reads."""
    return tuple(
        dict.fromkeys(
            kind for s in discover().values() for kind in (*s.accumulators, *s.also_reads)
        )
    )


def handbook() -> dict[str, HandbookPage]:
    """By name, the page of every sentinel, which says how it decides, parsed from its module
    docstring. (The pages of classes, which say what to do, are in ``sentinels/handbook``.)"""
    package = __name__.rpartition(".kit.")[0]
    entries = {}
    for name in discover():
        module = sys.modules[f"{package}.{name}"]
        entries[name] = parse(name, module.__doc__ or "")
    return entries
