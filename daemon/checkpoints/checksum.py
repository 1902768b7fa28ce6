"""Is every byte of a checkpoint what was written? The second level: checksum.

A zip archive, which is what torch.save writes, has a CRC-32 of every record; torch itself does
not look at it when it loads. Here every record is read once and compared, in slices: a
:class:`Place` says where to go on, so that whoever asks may let a save go first. Read pages are
given back at once. Formats without checksums (safetensors, legacy torch files) and archives
whose writer left them out stay at the level of structure: that is no fault.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from . import archives, formats, names
from .peek import Cut, Peek

LEVEL = "checksum"
CHUNK = 4 << 20
"""Bytes read at once: the memory that it takes, and how soon it can stop."""
_SHOWN = 3


class Place(NamedTuple):
    """How far it has come: file and record by number, bytes of the record and their CRC."""

    file: int = 0
    record: int = 0
    offset: int = 0
    crc: int = 0
    summed: int = 0
    """Records that were compared so far."""
    left_out: int = 0
    """Records that have no checksum, or one that cannot be compared."""


@dataclass(frozen=True, slots=True)
class Sums:
    """What was found. ``place`` is set while there is more to read."""

    state: Literal["ok", "corrupt", "unverifiable"] = "ok"
    level: str = LEVEL
    detail: str = ""
    place: Place | None = None


BEGINNING = Place()


def check(path: str, place: Place = BEGINNING, stop: Callable[[], bool] = lambda: False) -> Sums:
    """Compare the checksums of a file or folder, from ``place`` on, until ``stop()``.

    At least one chunk is read per call. Raises nothing for what it finds.
    """
    try:
        files = list(_files(path))
        while place.file < len(files):
            shown = os.path.relpath(files[place.file], path) if os.path.isdir(path) else ""
            try:
                place, more = _file(files[place.file], place, stop)
            except (archives.Broken, Cut) as error:
                return Sums("corrupt", detail=f"{shown}: {error}" if shown else str(error))
            if more:
                return Sums(place=place)
    except (OSError, MemoryError) as error:
        reason = error.strerror if isinstance(error, OSError) else "out of memory"
        return Sums("unverifiable", "structure", f"its data cannot be read: {reason}")
    return _verdict(place)


def _verdict(place: Place) -> Sums:
    if place.left_out:
        return Sums(level="structure", detail=f"{place.left_out} records have no checksum")
    return Sums() if place.summed else Sums(level="structure")


def _files(path: str) -> Iterator[str]:
    """The archives of a checkpoint, in a stable order."""
    if not os.path.isdir(path):
        if not path.endswith(names.INDEXES):
            yield path
            return
        folder, stem = os.path.dirname(path) or ".", names.index_stem(path) or ""
        base = os.path.basename(stem)
        found = [p for p in formats.parts(folder, deepest=0) if p.base.startswith(base)]
    else:
        found = [p for p in formats.parts(path) if not names.is_leftover(p.base)]
    yield from sorted(part.path for part in found)


def _file(path: str, place: Place, stop: Callable[[], bool]) -> tuple[Place, bool]:
    """Go on with one file; the place afterwards, and whether there is more of it."""
    done = Place(place.file + 1, 0, 0, 0, place.summed, place.left_out)
    with Peek(path) as peek:
        if peek.upto(0, 4) != archives.LOCAL_MAGIC:
            return done, False
        records = archives.records(peek)
        for number in range(place.record, len(records)):
            place = place if number == place.record else place._replace(record=number)
            record = records[number]
            if not record.bytes:
                continue
            if record.method != 0 or record.crc == 0:
                place = place._replace(left_out=place.left_out + 1)
                continue
            offset, crc = _read(peek, record, place, stop)
            if offset < record.bytes:
                return place._replace(offset=offset, crc=crc), True
            if crc != record.crc:
                raise archives.Broken(f"the data of {record.name} does not match its checksum")
            place = place._replace(offset=0, crc=0, summed=place.summed + 1)
    return done._replace(summed=place.summed, left_out=place.left_out), False


def _read(
    peek: Peek, record: archives.Record, place: Place, stop: Callable[[], bool]
) -> tuple[int, int]:
    """(bytes of the record read, their CRC) once it is whole, or ``stop()`` says so."""
    start = archives.data_start(peek, record)
    offset, crc = place.offset, place.crc
    while offset < record.bytes:
        data = peek.at(start + offset, min(CHUNK, record.bytes - offset))
        crc = zlib.crc32(data, crc)
        peek.forget(start + offset, len(data))
        offset += len(data)
        if offset < record.bytes and stop():
            break
    return offset, crc
