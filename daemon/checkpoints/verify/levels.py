"""Verify checkpoints in this process: for commands, and for the verifier (:mod:`.worker`)."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..finder import CheckpointFinder, CheckpointPath
from ..formats import names, recognise
from . import composition, folders, skipped, structure
from .verdicts import one_detail

FINITE = "finite"
READS = ("checksum", FINITE)
"""Levels for which all of the data is read, once."""
Told = Callable[[str, int, int], None]
"""Called several times a second with a path, its bytes read so far, and its bytes in all."""

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def describe(path: str, level: str = FINITE, progress: Told | None = None) -> dict[str, Any]:
    """Check the structure of one checkpoint, and if that is ok and ``level`` asks for it its data.

    ``{"path","state","level","detail","bytes","files","format","step","step_origin","epoch",
    "metrics","parts","digest"}``: ``state`` is ok, corrupt, incomplete or unverifiable; unknown
    numbers are ``None``, numbers that are not finite are the strings ``"nan"``, ``"inf"`` and
    ``"-inf"``; ``digest`` is ``None`` unless all was read.
    """
    verdict = structure.check(path)
    found = {
        "path": path,
        "state": verdict.state,
        "level": verdict.level,
        "detail": verdict.detail,
        "bytes": verdict.bytes,
        "files": verdict.files,
        "format": verdict.format,
        "step": _strict(verdict.progress.step),
        "step_origin": verdict.progress.origin or None,
        "epoch": _strict(verdict.progress.epoch),
        "metrics": {name: _strict(v) for name, v in verdict.progress.metrics.items()},
        "parts": _parts(path, verdict),
        "digest": None,
    }
    if verdict.learned:
        found["learned"] = True
    if level in READS and verdict.state in ("ok", "unverifiable"):
        read = _read(path, level, verdict.detail, progress)
        # Of what nobody can judge the digest is taken, so that rot is noticed later.
        judged = verdict.state == "ok" or read["state"] == "corrupt"
        found.update(read if judged else {"digest": read["digest"]})
    return found


def _parts(path: str, verdict: structure.CheckpointVerdict) -> list[str]:
    """Its parts: from the verdict on a single file, else by :func:`.composition.roster`."""
    if verdict.state != "ok":
        return []
    return composition.roster(path) if verdict.parts is None else list(verdict.parts)


def _read(path: str, level: str, said: str, progress: Told | None) -> dict[str, Any]:
    """What reading all of the data adds to a description, or changes in it."""
    from .scan import Scan  # imports numpy, which checks of the structure do not need

    scan = Scan(path, level)

    def tell() -> bool:
        if progress is not None:
            progress(path, scan.done, scan.total)
        return False

    scanned = scan.advance(tell)
    assert scanned is not None, "nothing has stopped it"
    return {
        "state": scanned.state,
        "level": scanned.level,
        "detail": one_detail(said, scanned.detail),
        "digest": scanned.digest,
    }


def verify(
    paths: Sequence[str], level: str = FINITE, progress: Told | None = None
) -> list[dict[str, Any]]:
    """Check the checkpoints at these paths and in these folders, in this order, up to ``level``.

    A folder without a checkpoint gives one ``unverifiable`` entry, and so does each reason for which
    something in a folder was not checked. Raises nothing for what is
    found.
    """
    return list(results(paths, level, progress))


def results(
    paths: Sequence[str], level: str = FINITE, progress: Told | None = None
) -> Iterator[dict[str, Any]]:
    """The same as :func:`verify`, one after the other."""
    for path in paths:
        try:
            inside = expand(path)
        except OSError as error:
            yield _entry(path, "unverifiable", f"cannot be read: {error.strerror or error}")
            continue
        for each in inside:
            try:
                yield describe(each, level, progress)
            except Exception as error:  # noqa: BLE001 (one file must not stop the others)
                yield _entry(
                    each, "unverifiable", f"a bug in middlewatch: {type(error).__name__}: {error}"
                )
        reason = folders.dangling_latest(path) if os.path.isdir(path) else ""
        if reason:
            yield _entry(f"{path.rstrip('/')}/latest", "incomplete", reason)
        left = skipped.skipped(path, inside).sentences() if os.path.isdir(path) else []
        yield from (_entry(first, "unverifiable", said) for first, said in left)
        if not (inside or left or reason):
            yield _entry(path, "unverifiable", "no checkpoint in this folder")


def expand(path: str) -> list[str]:
    """The checkpoints in a folder, sorted by path and step; for a file only itself."""
    if not os.path.isdir(path):
        return [path]
    places = CheckpointFinder([path]).scan_all().values()
    return sorted((p.path for p in places if _is_one(p)), key=_natural)


def rows(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """One line for a person per result: state and level, size, step, path, and detail."""
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


def _is_one(place: CheckpointPath) -> bool:
    """Leftovers count too; a folder with only a step in its name counts if it holds weights."""
    return place.kind != "folder" or any(
        names.is_weights(p.base) for p in recognise.parts(place.path)
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
        "step_origin": None,
        "epoch": None,
        "metrics": {},
        "parts": [],
        "digest": None,
    }


def _natural(path: str) -> tuple[str, float, str]:
    """Sort key: inside one folder, checkpoint-500 comes before checkpoint-1000."""
    folder, _, name = path.rpartition("/")
    step = names.step_of(name)
    return folder, math.inf if step is None else step, name


def _strict(number: float | None) -> float | str | None:
    """A number for JSON, which has no NaN and no infinity: these become strings."""
    if number is None or math.isfinite(number):
        return number
    return "nan" if math.isnan(number) else ("inf" if number > 0 else "-inf")
