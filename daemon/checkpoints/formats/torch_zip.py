"""The zip archive that torch.save writes: is its structure whole?

It reads the end record, the central directory, the local header of every record and
``data.pkl``, but never the tensors. Layout: PKWARE APPNOTE 6.3.10, sections 4.3 and 4.5.3; what
torch writes: caffe2/serialize/inline_container.cc.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from . import pickle_walk
from .bounded_file import LONGEST, BoundedFile
from .pickle_symbols import TooLong

LOCAL_MAGIC = b"PK\x03\x04"
_CENTRAL_MAGIC = b"PK\x01\x02"
_END_MAGIC = b"PK\x05\x06"
_END64_MAGIC = b"PK\x06\x06"
_LOCATOR_MAGIC = b"PK\x06\x07"
_END_BYTES, _LOCATOR_BYTES, _END64_BYTES = 22, 20, 56
_LONGEST_COMMENT = 0xFFFF
_HEADERS_READ = 1 << 16
"""Limit on the local headers that are read, as each may need a disk access. If there are more,
those read are evenly spread."""
_IN_64 = 0xFFFFFFFF
_HAS_DESCRIPTOR = 0x08
_DEFLATED = 8


class Malformed(Exception):
    """A file is damaged or contradicts itself; ``str()`` is a sentence for a person."""


class Holed(Malformed):
    """Pages in the middle of the data were never written."""

    def __init__(self, start: int, count: int) -> None:
        super().__init__(
            f"a hole of {count} bytes at {start}, in the middle of numbers: pages never written"
        )


class ZipMember(NamedTuple):
    """One member of the archive, as the central directory has it."""

    name: str
    raw_name: bytes
    flags: int
    method: int
    crc: int
    packed_bytes: int
    bytes: int
    offset: int


def _leads_out(name: bytes) -> bool:
    """Whether unpacking this name would write outside the folder; no trainer writes such names."""
    return name[:1] in (b"/", b"\\") or (
        b".." in name and b".." in name.replace(b"\\", b"/").split(b"/")
    )


@dataclass(frozen=True, slots=True)
class Archive:
    """What a whole archive holds."""

    records: tuple[ZipMember, ...]
    """In the order of the central directory."""
    by_name: dict[str, ZipMember]
    pickle: ZipMember | None
    """``data.pkl``; ``None`` when this is no torch file."""
    walk: pickle_walk.Walk | None = None
    """``None`` when ``data.pkl`` is too long to walk."""
    lightning: bool = False
    notes: tuple[str, ...] = ()

    def by_offset(self) -> Sequence[ZipMember]:
        """The records, in the order of their place in the file."""
        return _by_offset(self.records)


def _by_offset(records: Sequence[ZipMember]) -> Sequence[ZipMember]:
    return sorted(records, key=lambda record: record.offset)


def read(peek: BoundedFile) -> Archive:
    """Check the structure. Raises :class:`Malformed` or FileTooShort where it is not whole."""
    found, begin = _directory(peek)
    by_name = {record.name: record for record in found}
    skipped = _local_headers(peek, found, begin)
    notes = (f"{skipped} of {len(found)} local headers not read",) if skipped else ()
    pickle = next((r for r in found if r.name.rpartition("/")[2] == "data.pkl"), None)
    if pickle is None:
        return Archive(found, by_name, None, notes=notes)
    start = data_start(peek, pickle)
    if pickle.method == 0 and pickle.bytes > pickle_walk.WALK_LIMIT:
        if peek.read_at(start + pickle.bytes - 1, 1) != b".":
            raise Malformed("data.pkl does not end with STOP")
        head = peek.read_at(start, pickle_walk.WALK_LIMIT)
        return Archive(
            found,
            by_name,
            pickle,
            None,
            _is_lightning(head),
            (*notes, "data.pkl is too long: not checked"),
        )
    try:
        data = _content(peek, pickle, start)
    except TooLong as error:
        return Archive(found, by_name, pickle, None, notes=(*notes, f"data.pkl: {error}"))
    # 0 if checksums are off when writing, see torch.serialization.set_crc32_options.
    if pickle.crc and zlib.crc32(data) != pickle.crc:
        raise Malformed("data.pkl does not match its checksum")
    try:
        walk = pickle_walk.walk(data)
        _storages_are_there(by_name, pickle, walk)
    except ValueError as error:
        raise Malformed(f"data.pkl: {error}") from None
    except TooLong as error:
        return Archive(
            found, by_name, pickle, None, _is_lightning(data), (*notes, f"data.pkl: {error}")
        )
    return Archive(found, by_name, pickle, walk, _is_lightning(data), notes)


def _content(peek: BoundedFile, record: ZipMember, start: int) -> bytes:
    """The bytes of a record. torch never compresses one, but reads it if another program did.

    Raises TooLong for more than is walked, and for a compression that is not deflate.
    """
    if record.method == 0:
        return peek.read_at(start, record.bytes)
    limit = pickle_walk.WALK_LIMIT
    if max(record.packed_bytes, record.bytes) > limit:
        raise TooLong("it is compressed and too long to read")
    data = beginning(peek, record, record.bytes + 1)
    if len(data) != record.bytes:
        raise Malformed(f"{record.name} does not unpack to its {record.bytes} bytes")
    return data


def beginning(peek: BoundedFile, record: ZipMember, count: int) -> bytes:
    """The first ``count`` bytes of a compressed record.

    Raises Malformed where it is damaged, and TooLong for a compression that is not deflate.
    """
    if record.method != _DEFLATED:
        raise TooLong(f"{record.name} has a compression that is not read")
    packed = peek.read_at(data_start(peek, record), min(record.packed_bytes, count + 64))
    try:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, count)
    except zlib.error as error:
        raise Malformed(f"{record.name} cannot be unpacked: {error}") from None


def _is_lightning(pickle: bytes) -> bool:
    return b"pytorch-lightning_version" in pickle


def _directory(peek: BoundedFile) -> tuple[tuple[ZipMember, ...], int]:
    """The central directory, and where it begins.

    Raises :class:`Malformed` or FileTooShort where it is not whole.
    """
    end_at, end = _end_record(peek)
    count, size, offset = struct.unpack_from("<HII", end, 10)
    limit = end_at
    if _IN_64 in (size, offset) or count == 0xFFFF or _has_locator(peek, end_at):
        short = (count, size, offset)
        limit, count, size, offset = _end64_record(peek, end_at)
        wide = ((count, 0xFFFF), (size, _IN_64), (offset, _IN_64))
        if any(s not in (w, most) for s, (w, most) in zip(short, wide, strict=True)):
            raise Malformed("the end record contradicts the zip64 end record")
    else:
        _one_disk(count, *struct.unpack_from("<HHH", end, 4))
    if offset + size > limit:
        raise Malformed(f"the central directory reaches {offset + size - limit} bytes too far")
    if offset + size < limit:
        raise Malformed(f"{limit - offset - size} bytes between central directory and end record")
    if size > LONGEST:
        raise Malformed(f"a central directory of {size} bytes is too long")
    return _entries(peek.read_at(offset, size), count, offset), offset


def _entries(data: bytes, count: int, limit: int) -> tuple[ZipMember, ...]:
    """The entries of the central directory, which begins at offset ``limit`` of the file."""
    found: list[ZipMember] = []
    at = 0
    while at < len(data):
        record = _entry(data, at, len(found))
        if record.offset + 30 + len(record.raw_name) + record.packed_bytes > limit:
            what = "reaches past the end of the data: the file is cut in the middle"
            raise Malformed(f"{record.name} {what}")
        if _leads_out(record.raw_name):
            raise Malformed(f"a record called {record.name} leads out of the archive")
        if record.method == 0 and record.packed_bytes != record.bytes:
            raise Malformed(f"{record.name} is not compressed, but has two different sizes")
        found.append(record)
        at += 46 + sum(struct.unpack_from("<HHH", data, at + 28))
    seen = len(found)
    if at != len(data) or (seen != count and seen & 0xFFFF != count):
        raise Malformed(f"the central directory has {seen} entries, {count} are announced")
    return tuple(found)


def _entry(data: bytes, at: int, place: int) -> ZipMember:
    if not data.startswith(_CENTRAL_MAGIC, at) or at + 46 > len(data):
        raise Malformed(f"entry {place} of the central directory is damaged")
    flags, method = struct.unpack_from("<HH", data, at + 8)
    crc, packed, whole, name_n, extra_n = struct.unpack_from("<IIIHH", data, at + 16)
    (offset,) = struct.unpack_from("<I", data, at + 42)
    name = data[at + 46 : at + 46 + name_n]
    extra = data[at + 46 + name_n : at + 46 + name_n + extra_n]
    whole, packed, offset = _sizes64(extra, whole, packed, offset)
    return ZipMember(
        name.decode("utf-8", "replace"), name, flags, method, crc, packed, whole, offset
    )


def _end_record(peek: BoundedFile) -> tuple[int, bytes]:
    """(offset of the end record, its bytes); it must be the last thing in the file."""
    for reach in (_END_BYTES, _END_BYTES + _LONGEST_COMMENT):
        start = max(0, peek.size - reach)
        tail = peek.read_up_to(start, reach)
        found = tail.rfind(_END_MAGIC)
        while found >= 0:
            record = tail[found : found + _END_BYTES]
            if len(record) == _END_BYTES:
                comment = struct.unpack_from("<H", record, 20)[0]
                if found + _END_BYTES + comment == len(tail):
                    return start + found, record
            found = tail.rfind(_END_MAGIC, 0, found)
    zeroes = peek.zero_tail()
    if zeroes >= 512:
        raise Malformed(f"the last {zeroes} bytes or more are zeroes: written only in part")
    raise Malformed("no end record: the file is cut off, or was never finished")


def _has_locator(peek: BoundedFile, end_at: int) -> bool:
    at = end_at - _LOCATOR_BYTES
    return at >= 0 and peek.read_at(at, 4) == _LOCATOR_MAGIC


def _end64_record(peek: BoundedFile, end_at: int) -> tuple[int, int, int, int]:
    """(offset of the zip64 end record; count, size and offset of the central directory)."""
    if not _has_locator(peek, end_at):
        raise Malformed("the end record asks for zip64, and there is no zip64 locator")
    locator = peek.read_at(end_at - _LOCATOR_BYTES, _LOCATOR_BYTES)
    at, disks = struct.unpack_from("<QI", locator, 8)
    if disks != 1:
        raise Malformed(f"the zip64 locator speaks of {disks} disks, which torch does not read")
    if at + _END64_BYTES > end_at:
        raise Malformed("the zip64 locator points outside the file")
    record = peek.read_at(at, _END64_BYTES)
    if not record.startswith(_END64_MAGIC):
        raise Malformed("the zip64 end record is not where its locator says")
    (length,) = struct.unpack_from("<Q", record, 4)
    if at + 12 + length != end_at - _LOCATOR_BYTES:
        raise Malformed("something lies between the zip64 end record and its locator")
    count, size, offset = struct.unpack_from("<QQQ", record, 32)
    _one_disk(count, *struct.unpack_from("<IIQ", record, 16))
    return at, count, size, offset


def _one_disk(count: int, disk: int, of_directory: int, here: int) -> None:
    """Compare what an end record says about disks, as torch does (miniz, mz_zip_reader_read_central_dir)."""
    if here != count or (disk, of_directory) not in ((0, 0), (1, 1)):
        raise Malformed("an end record speaks of several disks, which torch does not read")


def _sizes64(extra: bytes, *sizes: int) -> tuple[int, ...]:
    """Replace the sizes that did not fit into 32 bits by those of the zip64 extra field."""
    if _IN_64 not in sizes:
        return sizes
    at = 0
    while at + 4 <= len(extra):
        tag, length = struct.unpack_from("<HH", extra, at)
        if tag == 1:
            room = extra[at + 4 : at + 4 + length]
            wide = [room[i : i + 8] for i in range(0, len(room) - 7, 8)]
            if len(wide) < sizes.count(_IN_64):
                break
            numbers = iter(int.from_bytes(w, "little") for w in wide)
            return tuple(next(numbers) if s == _IN_64 else s for s in sizes)
        at += 4 + length
    raise Malformed("an entry of the central directory lacks its 64-bit sizes")


def _local_headers(peek: BoundedFile, records: Sequence[ZipMember], end: int) -> int:
    """Compare local headers with the central directory, which begins at ``end``.

    Returns how many were not read.
    """
    ordered = _by_offset(records)
    stride = -(-len(ordered) // _HEADERS_READ) or 1
    looked_at = 0
    for place in range(len(ordered) - 1, -1, -1):
        record = ordered[place]
        start = record.offset + 30 + len(record.raw_name)
        if place % stride == 0:
            start = _local_header(peek, record)
            looked_at += 1
        if start + record.packed_bytes > end:
            raise Malformed(f"{record.name} overlaps what follows it")
        end = record.offset
    return len(ordered) - looked_at


def _local_header(peek: BoundedFile, record: ZipMember) -> int:
    """Compare one; returns the offset at which its data begins."""
    head = peek.read_at(record.offset, 30 + len(record.raw_name))
    if not head.startswith(LOCAL_MAGIC):
        what = "zeroes" if not any(head) else "something else"
        raise Malformed(f"{what} where the header of {record.name} should be")
    flags, method = struct.unpack_from("<HH", head, 6)
    packed, whole, name_n, extra_n = struct.unpack_from("<IIHH", head, 18)
    if head[30:] != record.raw_name or name_n != len(record.raw_name):
        raise Malformed(f"the header of {record.name} carries another name")
    if (flags, method) != (record.flags, record.method):
        raise Malformed(f"the header of {record.name} contradicts the central directory")
    later = 0 if flags & _HAS_DESCRIPTOR else _IN_64
    for here, there in ((packed, record.packed_bytes), (whole, record.bytes)):
        if here not in (there, _IN_64, later):
            raise Malformed(f"the header of {record.name} gives another size")
    return record.offset + 30 + int(name_n) + int(extra_n)


def data_start(peek: BoundedFile, record: ZipMember) -> int:
    """Offset at which the data of a record begins."""
    name_n, extra_n = struct.unpack("<HH", peek.read_at(record.offset + 26, 4))
    return record.offset + 30 + int(name_n) + int(extra_n)


def _storages_are_there(
    by_name: dict[str, ZipMember], pickle: ZipMember, walk: pickle_walk.Walk
) -> None:
    """Check that every storage that ``data.pkl`` names exists and holds all of its tensors."""
    prefix = pickle.name[: -len("data.pkl")] + "data/"
    for key, wanted in walk.storages.items():
        record = by_name.get(prefix + key)
        if record is None:
            raise Malformed(f"the tensor data {prefix}{key} is missing")
        if wanted is None:
            walk.storages[key] = record.bytes
        elif record.bytes != wanted:
            raise Malformed(f"{prefix}{key} has {record.bytes} bytes, data.pkl wants {wanted}")
    for name, tensor in pickle_walk.tensors(walk.root):
        if tensor is not None and isinstance(tensor.place, str):
            over = tensor.start + tensor.bytes - (walk.storages[tensor.place] or 0)
            if over > 0:
                raise Malformed(f"{name} reaches {over} bytes past {prefix}{tensor.place}")
