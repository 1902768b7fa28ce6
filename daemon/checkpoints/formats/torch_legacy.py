"""Files of torch.save before 1.6: five pickles, then every storage after its eight-byte count.

Layout: torch/serialization.py, _legacy_save. The pickles are a magic number, the version of
the protocol, the system that wrote the file, the object, and the keys of the storages in order.
"""

from __future__ import annotations

from dataclasses import dataclass

from . import pickle_walk
from .bounded_file import BoundedFile
from .dtypes import ITEM_BYTES
from .pickle_symbols import TooLong
from .torch_zip import Holed, Malformed

_COUNT_BYTES = 8
_ITEMS = frozenset(ITEM_BYTES.values())


@dataclass(frozen=True, slots=True)
class Legacy:
    """What a whole file holds."""

    walk: pickle_walk.Walk
    """The pickled object; its offsets count from the beginning of the file."""
    starts: dict[str, int]
    """Key -> offset at which the bytes of that storage begin."""
    big: bool
    """Its numbers are big-endian."""
    globals: tuple[str, ...] = ()
    """The names that any of its pickles would import."""


def read(peek: BoundedFile) -> Legacy:
    """Check the structure. Raises Malformed or FileTooShort where it is not whole, TooLong."""
    head = peek.read_up_to(0, pickle_walk.WALK_LIMIT)
    start, walks = 0, []
    try:
        for _ in range(5):
            walks.append(pickle_walk.walk(head, start))
            start = walks[-1].end
    except ValueError as error:
        if peek.size > len(head):
            raise TooLong("a pickle that is too long to follow") from None
        raise Malformed(str(error)) from None
    machine, model, keys = walks[2].root, walks[3], walks[4].root
    starts, end = _starts(model, keys if isinstance(keys, list) else [], start)
    big = isinstance(machine, dict) and machine.get("little_endian") is False
    if end > peek.size:
        raise Malformed(f"the file is cut off: {end - peek.size} bytes are missing")
    if end < peek.size:
        raise Malformed(f"{peek.size - end} bytes more than its storages need")
    borders = [at for s in starts.values() for at in (s - _COUNT_BYTES, s)]
    lost = peek.lost_tail(borders)
    if lost:
        raise Malformed(f"the last {lost} bytes are zeroes: they never reached the disk")
    hole, count = peek.lost_hole(borders)
    if count:
        raise Holed(hole, count)
    for key, at in starts.items():
        count = int.from_bytes(
            peek.read_at(at - _COUNT_BYTES, _COUNT_BYTES), "big" if big else "little"
        )
        _counted(key, count, model.storages[key] or 0)
    _tensors_fit(model, starts)
    return Legacy(model, starts, big, tuple(name for walk in walks for name in walk.globals))


def _starts(model: pickle_walk.Walk, keys: list[object], at: int) -> tuple[dict[str, int], int]:
    """(key -> offset of that storage, end of the last one). ``at``: where the first begins."""
    starts: dict[str, int] = {}
    for key in keys:
        size = model.storages.get(str(key))
        if size is None:
            raise TooLong("a legacy torch file with storages of unknown length")
        starts[str(key)] = at + _COUNT_BYTES
        at += _COUNT_BYTES + size
    return starts, at


def _counted(key: str, count: int, size: int) -> None:
    """Check the number before a storage, which is the number of its elements."""
    if count * 16 < size or (count and size % count) or (size == 0) != (count == 0):
        raise Malformed(f"the storage {key} has {size} bytes, but {count} as its count")
    if count and size // count not in _ITEMS:
        raise Malformed(f"the storage {key} has {size} bytes, but {count} as its count")


def _tensors_fit(model: pickle_walk.Walk, starts: dict[str, int]) -> None:
    for name, tensor in pickle_walk.tensors(model.root):
        if tensor is None or not isinstance(tensor.place, str):
            continue
        key = tensor.place
        if key not in starts:
            raise Malformed(f"the tensor data {key} of {name} is missing")
        over = tensor.start + tensor.bytes - (model.storages[key] or 0)
        if over > 0:
            raise Malformed(f"{name} reaches {over} bytes past its storage {key}")
