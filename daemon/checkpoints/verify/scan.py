"""Read every byte of a checkpoint once: is it what was written, and is every number finite?

One pass over each file compares the CRC-32 of every record that has one (torch writes them and
never checks them), finds NaN and infinity in every floating-point tensor, and computes a digest
of our own, by which later bit rot is noticed. Nothing is unpickled, and torch is not needed. The
page cache is left as it was.

To scan a file with tensors imports numpy, so only the verifier and commands use this module.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator, Mapping
from typing import NamedTuple

import xxhash

from ...system.files import combined_digest
from ..formats import contents, distcp, names, recognise, safetensors, torch_zip
from ..formats.bounded_file import BoundedFile, FileTooShort
from . import unsafe_globals
from .checksums import Sums
from .findings import FINITE, STRUCTURE, Findings
from .findings import Scanned as Scanned
from .reading import FileFingerprint, FileReader

LEVEL = FINITE
_KNOWN = ("zip", "legacy", "safetensors", "hdf5")
"""Kinds of files that are understood completely, even if there is no tensor in them."""
_UNSUMMED = ("legacy", "safetensors")
"""Those of them without checksums."""
_HOLDS_TENSORS = (".distcp", ".h5", ".hdf5", ".keras")


class Member(NamedTuple):
    """One file of a checkpoint."""

    name: str
    """Relative to the folder of the checkpoint, with slashes."""
    path: str
    bytes: int


class _Changed(Exception):
    """A file has changed since the reading began."""


class Scan:
    """One checkpoint (a file, the index of a sharded one, or a folder) being read.

    Between two calls of :meth:`advance` it holds an open file and the state of its checksums;
    :meth:`close` releases them. It raises nothing for a damaged file. With ``level`` checksum,
    numbers are not checked.
    """

    def __init__(self, path: str, level: str = FINITE) -> None:
        self.path = path
        self._finite = level == FINITE
        self.done = 0
        """Bytes read so far."""
        self._result: Scanned | None = None
        self._members: list[Member] = []
        self._many = os.path.isdir(path) or _is_index(path)
        try:
            self._members = members(path)
            self._many = self._many or len(self._members) > 1
        except OSError as error:
            self._result = self._unread(f"its data cannot be read: {error.strerror or error}")
        self._findings = Findings(many=self._many)
        self.total = sum(member.bytes for member in self._members)
        """Bytes to read."""
        self._beside: dict[str, dict[str, distcp.Rows]] = {}
        """By folder: the items of its ``.distcp`` files."""
        self._work = self._run()

    def advance(self, stop: Callable[[], bool] = lambda: False) -> Scanned | None:
        """Read on until ``stop()`` is true, at least 512 KiB; ``None`` while there is more."""
        if self._result is None:
            for _ in self._work:
                if stop():
                    return None
        return self._result

    def close(self) -> None:
        """End the reading. Does nothing a second time, or after its end."""
        self._work.close()

    def _run(self) -> Generator[None, None, None]:
        digests: dict[str, str] = {}
        marks: dict[str, FileFingerprint] = {}
        self._survey()
        try:
            for member in self._members:
                marks[member.path] = FileFingerprint.of(os.stat(member.path))
                digest = xxhash.xxh3_128()
                yield from self._file(member, marks[member.path], digest)
                digests[member.name] = digest.hexdigest()
            for path, mark in marks.items():
                if FileFingerprint.of(os.stat(path)) != mark:
                    raise _Changed
        except (_Changed, FileNotFoundError):
            self._result = self._unread("changed while it was read")
            return
        except (OSError, MemoryError) as error:
            why = error.strerror or error if isinstance(error, OSError) else "out of memory"
            self._result = self._unread(f"its data cannot be read: {why}")
            return
        digits = combined_digest(digests) if self._many else next(iter(digests.values()))
        self._result = self._findings.scanned(f"xxh3:{digits}", self.done)

    def _survey(self) -> None:
        """Read the ``.metadata`` of a distributed checkpoint, once for all of its files."""
        for member in self._members:
            folder, name = os.path.split(member.path)
            if name != ".metadata":
                continue
            # What is wrong with a file is reported when its data is read.
            unread = (OSError, torch_zip.Malformed, FileTooShort, safetensors.TooLong)
            with contextlib.suppress(*unread), BoundedFile(member.path) as peek:
                self._beside[folder] = distcp.survey(peek)

    def _file(
        self, member: Member, mark: FileFingerprint, digest: xxhash.xxh3_128
    ) -> Generator[None, None, None]:
        found = self._findings
        inside, kind = _inside(member, found, self._beside.get(os.path.dirname(member.path)))
        sums = Sums(inside.records)
        tensors = inside.tensors if self._finite else ()
        unplaced = inside.unplaced if self._finite else 0
        known = kind in _KNOWN or bool(inside.records or inside.tensors or unplaced)
        if danger := unsafe_globals.remark(inside.globals):
            found.doubtful(member.name, danger)
        for note in inside.notes:
            found.add_remark(member.name, note)
        if (
            kind == "zip"
            and sums.left_out
            and not any("compressed" in note for note in inside.notes)
        ):
            of = sum(1 for record in inside.records if record.bytes)
            found.add_remark(member.name, _left_out(sums.left_out, of))
        numbers = None
        if tensors:
            from .nonfinite import Numbers  # imports numpy, which files without tensors do not need

            numbers = Numbers(tensors)
        copies = None
        if tensors and kind in _UNSUMMED:
            from .copies import Copies  # imports numpy too

            copies = Copies(member.bytes, tensors)
        with FileReader(member.path) as reader:
            if reader.mark != mark:
                raise _Changed
            end = 0
            for offset, data in reader.chunks():
                digest.update(data)
                sums.feed(offset, data)
                if numbers is not None:
                    numbers.feed(offset, data)
                if copies is not None:
                    copies.feed(offset, data)
                end = offset + len(data)
                self.done += len(data)
                yield
            if end != reader.size or reader.changed():
                raise _Changed
        found.read(member.name, sums, numbers)
        if copies is not None and (twice := copies.first(member.path)):
            found.doubtful(member.name, twice)
        if known or _should_hold_tensors(member.name):
            found.reached(member.name, sums, unplaced, known=known and self._finite)

    def _unread(self, detail: str) -> Scanned:
        return Scanned("unverifiable", STRUCTURE, detail, None, self.done)


def members(path: str) -> list[Member]:
    """The files of a checkpoint by name, without temporary ones. Raises OSError."""
    if _is_index(path):
        found = _shards(path)
    elif not os.path.isdir(path):
        found = [Member(os.path.basename(path), path, os.stat(path).st_size)]
        found += [Member(p.base, p.path, p.bytes) for p in recognise.family(path)]
    else:
        found = [
            Member(part.name, part.path, part.bytes)
            for part in recognise.parts(path)
            if not any(names.is_leftover(piece) for piece in part.name.split("/"))
        ]
    return sorted(found)


def _is_index(path: str) -> bool:
    return path.endswith(names.INDEXES)


def _shards(index: str) -> list[Member]:
    """The index and its shards: those that it names, or if it is damaged those beside it."""
    folder, base = os.path.split(index)
    try:
        with BoundedFile(index) as peek:
            wanted = set(safetensors.shard_map(peek))
    except (torch_zip.Malformed, FileTooShort, safetensors.TooLong):
        stem = os.path.basename(names.index_stem(index) or "")
        beside = recognise.parts(folder or ".", deepest=0)
        wanted = {p.base for p in beside if p.base.startswith(stem) and names.shard(p.base)}
    found = []
    for name in {base, *wanted}:
        path = f"{folder}/{name}" if folder else name
        found.append(Member(name, path, os.stat(path).st_size))
    return found


def _should_hold_tensors(name: str) -> bool:
    return names.is_weights(name) or name.endswith(_HOLDS_TENSORS)


def _left_out(left_out: int, of: int) -> str:
    if left_out == of:
        return "its writer left the checksums out"
    return f"{left_out} of {of} records have no checksum"


def _inside(
    member: Member, found: Findings, beside: Mapping[str, distcp.Rows] | None
) -> tuple[contents.Contents, recognise.FileKind | None]:
    """The records and tensors of a file, and its kind; nothing where these are not known."""
    try:
        with BoundedFile(member.path) as peek:
            kind = recognise.file_kind(peek, member.path)
            return contents.contents(peek, member.path, beside), kind
    except (torch_zip.Malformed, FileTooShort) as error:
        if _should_hold_tensors(member.name):
            cut = isinstance(error, FileTooShort)
            found.broken(member.name, f"the file is cut off: {error}" if cut else str(error))
    except safetensors.TooLong as error:
        found.add_remark(member.name, str(error))
    return contents.Contents(), None
