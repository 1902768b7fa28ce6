"""Verify checkpoints in this process: for the command, and for the verifier child."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from . import checksum, folders, formats, names, structure
from .finder import Finder, Place

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def describe(path: str, level: str = structure.LEVEL) -> dict[str, Any]:
    """Check one checkpoint; its data too where ``level`` is checksum and its structure is good.

    ``{"path","state","level","detail","bytes","files","format","step","epoch","metrics"}``:
    ``state`` is ok, corrupt, incomplete or unverifiable; unknown numbers are ``None``, numbers
    that are not finite the strings ``"nan"``, ``"inf"`` and ``"-inf"``.
    """
    verdict = structure.check(path)
    if level == checksum.LEVEL and verdict.state == "ok":
        sums = checksum.check(path)
        detail = "; ".join(text for text in (verdict.detail, sums.detail) if text)
        verdict = replace(verdict, state=sums.state, level=sums.level, detail=detail)
    return {
        "path": path,
        "state": verdict.state,
        "level": verdict.level,
        "detail": verdict.detail,
        "bytes": verdict.bytes,
        "files": verdict.files,
        "format": verdict.format,
        "step": _strict(verdict.progress.step),
        "epoch": _strict(verdict.progress.epoch),
        "metrics": {name: _strict(v) for name, v in verdict.progress.metrics.items()},
    }


def verify(paths: Sequence[str], level: str = checksum.LEVEL) -> list[dict[str, Any]]:
    """Check every checkpoint that the paths are or hold, in the order given, up to ``level``.

    A folder that holds none gives one ``unverifiable`` entry. Raises nothing for what it
    finds.
    """
    found = []
    for path in paths:
        inside = [describe(each, level) for each in expand(path)]
        reason = folders.dangling_latest(path) if os.path.isdir(path) else ""
        if reason:
            inside.append(_entry(f"{path.rstrip('/')}/latest", "incomplete", reason))
        found += inside or [_entry(path, "unverifiable", "no checkpoint in this folder")]
    return found


def expand(path: str) -> list[str]:
    """The checkpoints under a folder, by path with numbers in order; a file is itself."""
    if not os.path.isdir(path):
        return [path]
    places = Finder([path]).scan(0.0).values()
    return sorted((p.path for p in places if _is_one(p)), key=_natural)


def rows(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """One line for a person per result: state and level reached, size, step, path, and why."""
    lines = []
    for entry in found:
        step = "" if entry["step"] is None else f"step {entry['step']:g}"
        detail = f"  ({entry['detail']})" if entry["detail"] else ""
        size = human_bytes(entry["bytes"])
        state = f"{entry['state']} ({entry['level']})"
        lines.append(f"{state:<24} {size:>9}  {step:<12} {entry['path']}{detail}")
    return lines


def human_bytes(count: float) -> str:
    """``1.4 GiB``."""
    unit = 0
    while count >= 1024 and unit < len(_UNITS) - 1:
        count /= 1024
        unit += 1
    return f"{count:.0f} B" if unit == 0 else f"{count:.1f} {_UNITS[unit]}"


def _is_one(place: Place) -> bool:
    """Leftovers are told too; a folder with a step in its name counts when it holds weights."""
    return place.kind != "folder" or any(
        names.is_weights(p.base) for p in formats.parts(place.path)
    )


def _entry(path: str, state: str, detail: str) -> dict[str, Any]:
    return {
        "path": path,
        "state": state,
        "level": structure.LEVEL,
        "detail": detail,
        "bytes": 0,
        "files": 0,
        "format": "unknown",
        "step": None,
        "epoch": None,
        "metrics": {},
    }


def _natural(path: str) -> tuple[str, float, str]:
    """checkpoint-500 before checkpoint-1000, inside one folder."""
    folder, _, name = path.rpartition("/")
    step = names.step_of(name)
    return folder, math.inf if step is None else step, name


def _strict(number: float | None) -> float | str | None:
    """JSON has no NaN."""
    if number is None or math.isfinite(number):
        return number
    return "nan" if math.isnan(number) else ("inf" if number > 0 else "-inf")
