"""What a line may be news of, told from the atoms it holds: one look for all of them.

A hint is never wrong by silence: a line without one matches no signature, announces no
phase, claims no checkpoint and belongs to no traceback that is not open already.
"""

from __future__ import annotations

from dataclasses import dataclass

from . import matcher, phases, signatures
from .atoms import AtomIndex
from .tracebacks import Tracebacks

_PHASE = len(signatures.SIGNATURES)
_SAVED = _PHASE + len(phases.PHASES)
_TRACE = _SAVED + 1


@dataclass(frozen=True, slots=True)
class Hints:
    """What has to be looked at closer."""

    rows: tuple[int, ...]
    """Indices of signatures, in order."""
    phases: tuple[int, ...]
    """Indices of phases, in order."""
    saved: bool
    trace: bool


NONE = Hints((), (), False, False)


def _index() -> AtomIndex:
    ids: dict[str, list[int]] = matcher.atoms()
    for i, (_, _, atoms) in enumerate(phases.PHASES):
        for atom in atoms:
            ids.setdefault(atom, []).append(_PHASE + i)
    for atom in phases.SAVED_ATOMS:
        ids.setdefault(atom, []).append(_SAVED)
    for atom in Tracebacks.ATOMS:
        ids.setdefault(atom, []).append(_TRACE)
    return AtomIndex(ids)


INDEX = _index()
"""One for all logs: their words are mostly the same."""


def hints_of(line: bytes) -> Hints:
    """What a line, and with it every line of its shape, may be news of."""
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
