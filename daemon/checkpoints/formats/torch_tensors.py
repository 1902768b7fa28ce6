"""Where in a torch file the elements of its tensors lie, for zip archives and legacy files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from . import pickle_walk, progress, torch_zip
from .bounded_file import BoundedFile
from .dtypes import FLOATING, ITEM_BYTES
from .extents import Extent, TensorAt
from .pickle_calls import number_at
from .pickle_symbols import Blob, Tensor
from .recognise import UNTOLD, Progress
from .torch_legacy import Legacy

_MEMORIES = re.compile(
    r"^(?:callbacks?|loops?|metrics?|history|logs?|stats|lr_schedulers?|schedulers?|scaler|sampler"
    r"|config|args|hparams|hyper_parameters|(?:train_)?dataloader|.*rng.*|random.*"
    r"|.*_(?:loss|losses|acc|accuracy|metric|metrics|score|history)|loss|losses|acc|accuracy"
    r"|best_.*)$",
    re.IGNORECASE,
)
"""Keys at the top level of a file that hold records (histories, settings), not weights."""
_MOST_RUNS = 20_000
"""Limit on the parts of views with gaps in one file."""


@dataclass(frozen=True, slots=True)
class Torch:
    """The object in a torch file, as symbols, and where its tensors lie."""

    peek: BoundedFile
    root: object
    """The object, as :mod:`.pickle_symbols`."""
    start_of: Callable[[Tensor], int]
    """Offset of a tensor's first byte in ``peek``."""
    big: bool = False
    """Its numbers are big-endian."""


def members(peek: BoundedFile, archive: torch_zip.Archive, prefix: str = "") -> tuple[Extent, ...]:
    """The members of an archive by offset. Compressed ones have no CRC: it is of other bytes."""
    return tuple(
        Extent(
            prefix + record.name,
            peek.begin + torch_zip.data_start(peek, record),
            record.packed_bytes,
            None if record.method or not record.crc else record.crc,
        )
        for record in archive.by_offset()
    )


def of_archive(peek: BoundedFile, archive: torch_zip.Archive) -> Torch | None:
    """A zip archive that torch.save wrote; ``None`` where its pickle was not followed, or where
    its data is compressed and so has no place in the file."""
    if archive.pickle is None or archive.walk is None:
        return None
    home = archive.pickle.name[: -len("data.pkl")]
    if archive.pickle.method or any(
        record.method and record.name.startswith(f"{home}data/") for record in archive.records
    ):
        return None
    last = ("", 0)

    def start_of(tensor: Tensor) -> int:
        place = tensor.place
        name, within = (
            (f"{home}data.pkl", place.start)
            if isinstance(place, Blob)
            else (f"{home}data/{place}", 0)
        )
        nonlocal last
        if name != last[0]:  # the tensors of one storage usually follow each other
            record = archive.by_name.get(name)
            if record is None:
                raise torch_zip.Malformed(f"the tensor data {name} is missing")
            last = (name, torch_zip.data_start(peek, record))
        return last[1] + within + tensor.start

    order = archive.by_name.get(home + "byteorder")
    big = order is not None and peek.read_at(torch_zip.data_start(peek, order), 3) == b"big"
    return Torch(peek, archive.walk.root, start_of, big)


def of_legacy(peek: BoundedFile, found: Legacy) -> Torch:
    """A file of torch.save before 1.6."""

    def start_of(tensor: Tensor) -> int:
        place = tensor.place
        return tensor.start + (place.start if isinstance(place, Blob) else found.starts[place])

    return Torch(peek, found.walk.root, start_of, found.big)


def progress_of(torch: Torch) -> Progress:
    """Progress of the training; reads the few tensors that hold a counter or a metric."""
    return UNTOLD if torch.big else progress.told_by(torch.root, lambda t: value_of(torch, t))


def value_of(torch: Torch, tensor: Tensor) -> float | None:
    """The first element of a tensor; ``None`` where there is none or its type is not known."""
    item = ITEM_BYTES.get(tensor.dtype or "")
    if item is None or tensor.bytes < item:
        return None
    return number_at(tensor.dtype, torch.peek.read_at(torch.start_of(tensor), item))


def tensors_of(torch: Torch) -> Iterator[TensorAt | None]:
    """Its floating-point tensors; ``None`` for one whose place or type is not known."""
    remembered = memories(torch.root)
    left = _MOST_RUNS
    for name, tensor in pickle_walk.tensors(torch.root):
        if tensor is None or tensor.dtype not in ITEM_BYTES:
            yield None
        elif tensor.dtype in FLOATING and tensor.bytes:
            if torch.big and FLOATING[tensor.dtype] > 1:
                yield None
                continue
            start = torch.peek.begin + torch.start_of(tensor)
            # A numpy array is a record of something, never a parameter of a model.
            weight = isinstance(tensor.place, str) and name.partition(".")[0] not in remembered
            runs = tensor.runs
            if runs is None:
                yield TensorAt(name, tensor.dtype, start, tensor.bytes, tensor.scalar, weight)
                continue
            left -= len(runs)
            if left < 0:
                yield None
                continue
            for at in runs.starts():
                yield TensorAt(name, tensor.dtype, start + at, runs.bytes, weight=weight, of=name)


def memories(root: object) -> frozenset[str]:
    """Keys at the top level of a file under which no weights lie."""
    if not isinstance(root, dict):
        return frozenset()
    # In a file that is a single state dict the names are paths, and modules may have any name.
    only_weights = not any(isinstance(value, dict) for value in root.values())
    found = set()
    for key, value in root.items():
        if not isinstance(key, str) or (only_weights and "." in key):
            continue
        lone = isinstance(value, Tensor) and value.scalar and not only_weights
        if lone or is_memory(key):
            found.add(key)
    return frozenset(found)


def is_memory(name: str) -> bool:
    """Whether a key at the top level of a file holds records, not weights."""
    return _MEMORIES.match(name) is not None
