"""Where in a torch file the numbers of its tensors lie, zip archive and legacy alike."""

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
"""What lies under these at the top of a file is remembered, and never computed with."""
_MOST_RUNS = 20_000
"""Parts of views with gaps that are told for one file."""


@dataclass(frozen=True, slots=True)
class Torch:
    """What a torch file would be when loaded, and where its numbers are."""

    peek: BoundedFile
    root: object
    """Its object, as ``symbols``."""
    start_of: Callable[[Tensor], int]
    """Offset of a tensor's first byte in ``peek``."""
    big: bool = False
    """Its numbers are big-endian."""


def members(peek: BoundedFile, archive: torch_zip.Archive, prefix: str = "") -> tuple[Extent, ...]:
    """The members of an archive, by offset. CRCs of packed ones are of what they unpack to."""
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
    """A zip archive that torch.save wrote; ``None`` where its pickle was not followed."""
    if archive.pickle is None or archive.walk is None:
        return None
    home = archive.pickle.name[: -len("data.pkl")]
    last = ("", 0)

    def start_of(tensor: Tensor) -> int:
        place = tensor.place
        name, within = (
            (f"{home}data.pkl", place.start)
            if isinstance(place, Blob)
            else (f"{home}data/{place}", 0)
        )
        nonlocal last
        if name != last[0]:  # tied weights, and the parts of a flat parameter, follow each other
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
    """How far the training was; it reads the few tensors that hold a counter or a metric."""
    return UNTOLD if torch.big else progress.told_by(torch.root, lambda t: value_of(torch, t))


def value_of(torch: Torch, tensor: Tensor) -> float | None:
    """The first number of a tensor; ``None`` where it is none, or cannot be told."""
    item = ITEM_BYTES.get(tensor.dtype or "")
    if item is None or tensor.bytes < item:
        return None
    return number_at(tensor.dtype, torch.peek.read_at(torch.start_of(tensor), item))


def tensors_of(torch: Torch) -> Iterator[TensorAt | None]:
    """Its floating tensors; ``None`` for one whose place or type cannot be told."""
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
            # An array of numpy is what somebody has noted down, never a parameter.
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
    """Names at the top of a file under which no weights lie."""
    if not isinstance(root, dict):
        return frozenset()
    # A file that is one state dict has a path in every name, and its modules are called anyhow.
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
    """Whether a name at the top of a file is that of something no model computes with."""
    return _MEMORIES.match(name) is not None
