"""Folders whose own files describe the others: Orbax and OCDBT, zarr, TensorFlow's SavedModel."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Sequence

from ..formats.bounded_file import BoundedFile, FileTooShort
from ..formats.readers import protobuf, zarr
from ..formats.readers.crc32c import LONGEST, crc32c
from ..formats.recognise import Part
from ..formats.torch_zip import Malformed
from .verdicts import FolderVerdict, worst

_OCDBT = b"\x0c\xdb\x3a\x2a"
"""Signature of a manifest: https://google.github.io/tensorstore/kvstore/ocdbt"""
_PARSED = 8 << 20


def check(path: str, files: Sequence[Part]) -> FolderVerdict | None:
    """The verdict on such a folder; ``None`` for another one."""
    found: list[FolderVerdict] = []
    try:
        for part in files:
            if part.base == "manifest.ocdbt":
                found.append(_manifest(part, files))
            elif part.base == "_CHECKPOINT_METADATA":
                found.append(_committed(part))
            elif part.base == "_METADATA":
                found.append(_tree(part))
            elif part.base == "saved_model.pb":
                found.append(_saved_model(part))
            elif part.base in ("zarr.json", ".zarray"):
                found.append(zarr_array(part, files))
    except OSError as error:
        return FolderVerdict("unverifiable", f"cannot be read: {error.strerror}")
    return worst(found) if found else None


def zarr_array(part: Part, files: Sequence[Part]) -> FolderVerdict:
    """One array: its description can be read, and no chunk that is not packed has another length than it
    says. A chunk that is not there is all zeroes, by the format."""
    try:
        with BoundedFile(part.path) as peek:
            layout = zarr.layout(peek)
    except (Malformed, FileTooShort) as error:
        return FolderVerdict("corrupt", f"{part.name}: {error}")
    prefix = part.name[: -len(part.base)]
    for other in files:
        if not other.name.startswith(prefix) or other.base in ("zarr.json", ".zarray", ".zattrs"):
            continue
        if layout.chunk_bytes is not None and other.bytes != layout.chunk_bytes:
            said = f"{other.name} has {other.bytes} bytes, a chunk has {layout.chunk_bytes}"
            return FolderVerdict("corrupt", said)
        if not other.bytes:
            return FolderVerdict("corrupt", f"{other.name} is empty")
    return FolderVerdict("ok")


def _manifest(part: Part, files: Sequence[Part]) -> FolderVerdict:
    """The manifest of a database: its length and its checksum; and some data beside it."""
    with BoundedFile(part.path) as peek:
        data = peek.read_up_to(0, LONGEST)
        size = peek.size
    if not data.startswith(_OCDBT):
        return FolderVerdict("corrupt", f"{part.name} does not begin with the signature of OCDBT")
    length = int.from_bytes(data[4:12], "little")
    if length != size:
        return FolderVerdict("corrupt", f"{part.name} has {size} bytes and claims {length}")
    if size <= LONGEST and crc32c(data[:-4]) != int.from_bytes(data[-4:], "little"):
        return FolderVerdict("corrupt", f"{part.name} does not match its checksum")
    prefix = part.name[: -len(part.base)]
    data_files = [p for p in files if p.name.startswith(prefix) and "/d/" in f"/{p.name}"]
    empty = next((p.name for p in data_files if not p.bytes), None)
    if empty is not None:
        return FolderVerdict("corrupt", f"{empty} is empty")
    if prefix.count("/ocdbt.process") == 0 and "ocdbt.process" not in prefix:
        return _stored(os.path.dirname(part.path), part.name)
    return FolderVerdict("ok")


def _stored(folder: str, name: str) -> FolderVerdict:
    """List the database with its own library, which checks what it reads; without it, say so."""
    if importlib.util.find_spec("tensorstore") is None:
        return FolderVerdict(
            "unverifiable", f"{name} is whole; to check its data install middlewatch[tensorstore]"
        )
    from ..formats.readers import ocdbt

    try:
        broken = ocdbt.broken(folder)
    except ocdbt.NoLibrary as error:
        return FolderVerdict("unverifiable", f"{name} is whole; its data was not checked: {error}")
    return FolderVerdict("corrupt", broken) if broken else FolderVerdict("ok")


def _committed(part: Part) -> FolderVerdict:
    """Orbax writes the time of the commit when all is there."""
    told = _parsed(part)
    if told is None:
        return FolderVerdict("corrupt", f"{part.name} is no whole JSON: damaged or cut off")
    if "commit_timestamp_nsecs" in told and not told["commit_timestamp_nsecs"]:
        return FolderVerdict(
            "incomplete", f"{part.name} has no time of commit: the save never ended"
        )
    return FolderVerdict("ok")


def _tree(part: Part) -> FolderVerdict:
    if _parsed(part) is None:
        return FolderVerdict("corrupt", f"{part.name} is no whole JSON: damaged or cut off")
    return FolderVerdict("ok")


def _parsed(part: Part) -> dict[str, object] | None:
    with BoundedFile(part.path) as peek:
        if peek.size > _PARSED:
            return {}
        try:
            found = json.loads(peek.read_at(0, peek.size))
        except (ValueError, RecursionError):
            return None
    return found if isinstance(found, dict) else None


def _saved_model(part: Part) -> FolderVerdict:
    """A protobuf of graphs; its variables are a TensorFlow checkpoint of their own, in a folder inside."""
    try:
        with BoundedFile(part.path) as peek:
            numbers = {field.number for field in protobuf.fields(peek, 0, peek.size)}
    except (Malformed, FileTooShort) as error:
        return FolderVerdict("corrupt", f"{part.name}: {error}")
    if 2 not in numbers:
        return FolderVerdict("corrupt", f"{part.name} has no graph in it: damaged or cut off")
    return FolderVerdict("ok")
