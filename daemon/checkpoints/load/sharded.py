"""Load a folder of torch.distributed.checkpoint (DCP, FSDP) through torch's own reader, tensor by tensor.

Without a process group, on the CPU. Two places of that reader run what a pickle says: it unpickles ``.metadata``
as it is, and loads the objects among the items without ``weights_only``. Here ``.metadata`` may name the classes of a
description alone, and objects are loaded like any other file, after a look at the names in them.

Part of the child, so of Python 3.8 and later.
"""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Callable
from typing import Any

from .looking import LONGEST_PICKLE, Impossible, Refused, Slice, look_first
from .plain_objects import MEMBER, accepted, member
from .sandbox import bounded

METADATA = ".metadata"
_DCP = "torch.distributed.checkpoint"
_PLAIN = {
    (f"{_DCP}.metadata", name)
    for name in (
        *("Metadata", "MetadataIndex", "StorageMeta", "TensorProperties", "_MEM_FORMAT_ENCODING"),
        *("TensorStorageMetadata", "BytesStorageMetadata", "ChunkStorageMetadata"),
    )
} | {
    (f"{_DCP}.filesystem", "_StorageInfo"),
    ("torch", "Size"),
    ("torch.serialization", "_get_layout"),
    ("collections", "OrderedDict"),
    ("pathlib", "PosixPath"),
    ("pathlib._local", "PosixPath"),
}
"""What a ``.metadata`` of torch 2.0 to 2.13 consists of, beside the types of numbers."""


def files(folder: str) -> list[str]:
    """The files with the data of such a checkpoint."""
    names = sorted(name for name in os.listdir(folder) if name.endswith(".distcp"))
    return [f"{folder}/{name}" for name in names]


def load(torch: Any, folder: str, memory: int, tell: Callable[[int], None]) -> int:
    """Load every item; returns how many tensors there are. Raises :class:`Refused`, :class:`Impossible`, and what
    torch says of a damaged one. ``tell`` is called with the bytes that are done."""
    try:
        from torch.distributed import checkpoint
        from torch.distributed.checkpoint.default_planner import DefaultLoadPlanner
    except ImportError as error:
        raise Impossible(f"the torch that loads it has no {_DCP}: {error}") from None

    class Planner(DefaultLoadPlanner):  # type: ignore[misc]
        """Loads objects as plain data, and forgets them."""

        def load_bytes(self, read_item: Any, value: io.BytesIO) -> None:
            with accepted(torch, look_first(torch, value)):
                torch.load(value, weights_only=True, map_location="cpu")

    metadata = _described(torch, f"{folder}/{METADATA}")
    lengths = _looked_at(torch, folder, metadata.storage_data, memory)
    reader = checkpoint.FileSystemReader(folder)
    reader.set_up_storage_reader(metadata, True)
    tensors = done = 0
    for name, described in metadata.state_dict_metadata.items():
        shape = getattr(described, "size", None)
        needed, place = 2 * max(lengths.get(name, [0])), None
        if shape is not None:
            kind = described.properties.dtype
            needed += shape.numel() * torch.empty((), dtype=kind).element_size()
        if needed > memory:
            raise Impossible(f"it needs {needed} bytes of memory for {name}")
        with bounded(needed + memory):
            if shape is not None:
                place = torch.empty(shape, dtype=kind)
                tensors += 1
            planner = Planner(flatten_state_dict=False, flatten_sharded_tensors=False)
            planner.set_up_planner({name: place}, metadata, True)
            plan = reader.prepare_local_plan(planner.create_local_plan())
            if shape is not None:
                _check_covered(name, shape.numel(), plan.items)
            reader.read_data(plan, planner)
        done += sum(lengths.get(name, []))
        tell(done)
    return tensors


class _Description(pickle.Unpickler):
    """Builds a ``.metadata`` and nothing else."""

    def __init__(self, file: Any, torch: Any) -> None:
        super().__init__(file)
        self._torch = torch

    def find_class(self, module: str, name: str) -> Any:
        """A class of a description, or a type of numbers. Raises :class:`Refused`."""
        plain = (module, name) in _PLAIN
        if module == "torch" and name.isidentifier():
            kind = getattr(self._torch, name, None)
            plain = plain or isinstance(kind, (self._torch.dtype, self._torch.layout))
        if f"{module}.{name}" == MEMBER:
            return member
        if not plain:
            raise Refused(f"its .metadata needs {module}.{name}, which would run code")
        return super().find_class(module, name)


def _described(torch: Any, path: str) -> Any:
    """What ``.metadata`` says. Raises ValueError for another thing than a description."""
    with open(path, "rb") as file:
        text = file.read(LONGEST_PICKLE + 1)
    if len(text) > LONGEST_PICKLE:
        raise Impossible(f"a .metadata of more than {LONGEST_PICKLE} bytes is not examined")
    found = _Description(io.BytesIO(text), torch).load()
    if type(found).__name__ != "Metadata" or not isinstance(found.storage_data, dict):
        raise ValueError(".metadata is no description of a checkpoint")
    return found


def _looked_at(torch: Any, folder: str, places: Any, memory: int) -> Any:
    """Name -> lengths of its items, after a look at each of them as at a file of its own."""
    lengths: Any = {}
    for index, place in places.items():
        name, file = index.fqn, place.relative_path
        if os.path.basename(file) != file or file in ("", ".", ".."):
            raise ValueError(f"{name} lies outside of the folder")
        if getattr(place, "transform_descriptors", None):
            raise Impossible(f"{name} is packed by an extension")
        path = f"{folder}/{file}"
        if min(place.offset, place.length) < 0 or place.offset + place.length > os.path.getsize(
            path
        ):
            raise ValueError(f"{name} reaches past the end of {file}")
        if place.length > memory:
            raise Impossible(f"it needs {place.length} bytes of memory for {name}")
        with bounded(place.length + memory), Slice(path, place.offset, place.length) as item:
            look_first(torch, item)
        lengths.setdefault(name, []).append(place.length)
    return lengths


def _check_covered(name: str, count: int, items: Any) -> None:
    """Raises :class:`Impossible` where the chunks leave a part of a tensor out: torch would leave what is in memory
    there, and say nothing."""
    read = 0
    for item in items:
        chunk = 1
        for length in item.lengths:
            chunk *= length
        read += chunk
    if read < count:
        raise Impossible(f"the chunks of {name} have {read} of its {count} numbers")
