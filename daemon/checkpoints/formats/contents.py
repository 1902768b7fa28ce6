"""The contents of one file of a checkpoint: its records, its tensors, and its progress.

``scan``, which reads the data, needs to know no format: for it a file is a list of byte ranges,
some with a checksum, some with the elements of a tensor. Nothing in a file is executed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from . import (
    distcp,
    hdf5,
    npy,
    pickle_walk,
    readers,
    recognise,
    safetensors,
    torch_legacy,
    torch_tensors,
    torch_zip,
)
from .bounded_file import BoundedFile
from .dtypes import FLOATING
from .extents import Contents as Contents
from .extents import Extent as Record
from .extents import TensorAt as TensorAt
from .pickle_symbols import Blob, Tensor
from .recognise import UNTOLD


def contents(
    peek: BoundedFile, path: str, beside: Mapping[str, distcp.Rows] | None = None
) -> Contents:
    """List what lies where in one file. ``path``: its format may depend on name and neighbours.

    ``beside``: for a ``.distcp`` file, the result of :func:`.distcp.survey` on its ``.metadata``.

    The result is empty for a file of no known format. Raises Malformed, FileTooShort or
    TooLong, and OSError where a neighbour cannot be read.
    """
    if path.endswith(".distcp"):
        return _distributed(peek, path, beside)
    kind = recognise.file_kind(peek, path)
    if kind == "zip":
        return _archive(peek)
    if kind == "legacy":
        return _torch(torch_tensors.of_legacy(peek, torch_legacy.read(peek)), ())
    if kind == "safetensors":
        return _safetensors(peek)
    if kind == "hdf5":
        found = _sorted((), _of_hdf5(peek))
        return replace(found, progress=hdf5.told_by(peek))
    if kind == "other" and path.endswith(".npy"):
        return _sorted((), [npy.in_file(peek)])
    if kind == "pickle":
        return _pickle(peek)
    known = readers.find(peek, path)
    return Contents() if known is None else known[1](peek, path)


def _pickle(peek: BoundedFile) -> Contents:
    """The numpy arrays of a plain pickle: of a short one, which can be followed in memory."""
    if peek.size > pickle_walk.WALK_LIMIT:
        return Contents()
    try:
        found = pickle_walk.walk(peek.read_at(0, peek.size))
    except ValueError:
        return Contents()  # several pickles, or the arrays of joblib: the structure was checked
    whole = torch_tensors.Torch(peek, found.root, _in_pickle)
    return _sorted((), torch_tensors.tensors_of(whole))


def _in_pickle(tensor: Tensor) -> int:
    assert isinstance(tensor.place, Blob)
    return tensor.place.start + tensor.start


def _archive(peek: BoundedFile) -> Contents:
    """A zip archive: of torch, or of numpy, Keras and others."""
    archive = torch_zip.read(peek)
    records = torch_tensors.members(peek, archive)
    found = torch_tensors.of_archive(peek, archive)
    notes = list(archive.notes)
    packed = sum(r.method != 0 for r in archive.records)
    if packed:
        notes.append(f"{packed} of {len(records)} records are compressed: data not read")
    if found is not None:
        return _torch(found, records, notes)
    if archive.pickle is not None:
        home = archive.pickle.name[: -len("data.pkl")] + "data/"
        unplaced = sum(r.name.startswith(home) for r in archive.records)
        return Contents(records, (), unplaced, notes=tuple(notes))
    inside: list[TensorAt | None] = []
    told = UNTOLD
    for record, place in zip(archive.by_offset(), records, strict=True):
        if record.method != 0:
            inside += [None] if record.name.endswith((".npy", ".h5")) else []
        elif record.name.endswith(".npy"):
            inside.append(npy.in_record(peek, record.name, place.start - peek.begin, place.bytes))
        elif record.name.endswith(".h5"):
            window = peek.window(place.start - peek.begin, place.bytes)
            inside += _of_hdf5(window)
            told = hdf5.told_by(window)
    return replace(_sorted(records, inside, notes), progress=told)


def _of_hdf5(peek: BoundedFile) -> Iterator[TensorAt | None]:
    for found in hdf5.datasets(peek):
        if found is None:
            yield None
            continue
        scalar = found.bytes == FLOATING.get(found.dtype)
        yield TensorAt(found.name, found.dtype, peek.begin + found.start, found.bytes, scalar)


def _torch(
    found: torch_tensors.Torch, records: Sequence[Record], notes: list[str] | None = None
) -> Contents:
    notes = [*(notes or ()), *(["its numbers are big-endian"] if found.big else [])]
    told = torch_tensors.progress_of(found)
    return replace(_sorted(records, torch_tensors.tensors_of(found), notes), progress=told)


def _sorted(
    records: Sequence[Record],
    found: Iterable[TensorAt | None],
    notes: list[str] | None = None,
) -> Contents:
    """The contents with tensors by offset; those without a known place are only counted."""
    every = list(found)
    placed = [t for t in every if t is not None and t.bytes and t.dtype in FLOATING]
    unplaced = sum(tensor is None for tensor in every)
    ordered = tuple(sorted(placed, key=lambda tensor: tensor.start))
    return Contents(records, ordered, unplaced, notes=tuple(notes or ()))


def _safetensors(peek: BoundedFile) -> Contents:
    header, start = safetensors.header(peek)

    def found() -> Iterator[TensorAt | None]:
        for name, entry in header.items():
            kind, begin, end = safetensors.dtype_of(entry.dtype), entry.begin, entry.end
            if kind is None:
                yield None
            else:
                scalar = end - begin == FLOATING.get(kind, 0)
                yield TensorAt(name, kind, start + begin, end - begin, scalar)

    return _sorted((), found())


def _distributed(
    peek: BoundedFile, path: str, beside: Mapping[str, distcp.Rows] | None
) -> Contents:
    """Consecutive archives, one per piece; ``.metadata`` beside the file says where they begin."""
    folder, name = os.path.split(path)
    if beside is None:
        try:
            with BoundedFile(f"{folder or '.'}/.metadata") as metadata:
                beside = distcp.survey(metadata)
        except FileNotFoundError:
            return Contents(notes=("no .metadata beside it",), unplaced=1)
    here = beside.get(name, ())
    records: list[Record] = []
    placed: list[TensorAt | None] = []
    imports: set[str] = set()
    for piece in here:
        row = distcp.Row(peek, piece)
        imports.update(row.globals)
        placed.extend(row.tensors())
        records.extend(row.records())
    told = distcp.progress_of(peek, here)
    return replace(_sorted(records, placed), progress=told, globals=frozenset(imports))
