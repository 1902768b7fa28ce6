"""What ``.metadata`` of a torch.distributed.checkpoint says about the files beside it.

It is a pickle of torch.distributed.checkpoint.metadata.Metadata: ``storage_data`` gives the file
and the offset of every piece, ``state_dict_metadata`` the type and shape of the pieces.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .dtypes import ITEM_BYTES
from .pickle_symbols import Global, Opaque

_HOME = "torch.distributed.checkpoint"
_FIELDS = {
    "MetadataIndex": ("fqn", "offset"),
    "_StorageInfo": ("relative_path", "offset", "length", "transform_descriptors"),
    "ChunkStorageMetadata": ("offsets", "sizes"),
    "TensorStorageMetadata": ("properties", "chunks"),
}


class Piece(NamedTuple):
    """One item in a ``.distcp`` file: a whole archive, with one tensor or one object."""

    name: str
    """Name of the tensor in the state dict; ``model.w[4,0]`` for a part of one."""
    file: str
    offset: int
    bytes: int
    """Length of the item, including the archive around the data."""
    data_bytes: int | None
    """Bytes of the tensor alone; ``None`` for objects and where that is not known."""
    plain: bool = True
    """The item is a plain archive, not transformed (compressed, say) by an extension."""
    chunk: bool = False
    """It is one of several chunks of a tensor: ``[4,0]`` in its name is its offset there."""


def compact(made_by: str, state: object) -> object:
    """The needed part of the state of an object in a ``.metadata``, to save memory.

    12,000 tensors take 7 MB in this form, and 19 MB with their whole state.
    """
    home, _, kind = made_by.rpartition(".")
    if not home.startswith(_HOME):
        return state
    if kind == "TensorProperties":  # its state is a tuple, and was a dict before torch 2.3
        return state[0] if isinstance(state, tuple) and state else _dict(state).get("dtype")
    fields = _FIELDS.get(kind)
    if fields is None or not isinstance(state, dict):
        return state
    kept = tuple(state.get(field) for field in fields)
    if kind == "TensorStorageMetadata":
        properties, chunks = kept
        dtype = properties.state if isinstance(properties, Opaque) else None
        found = chunks if isinstance(chunks, list) else ()
        return dtype, tuple(chunk.state for chunk in found if isinstance(chunk, Opaque))
    return kept


def is_metadata(root: object) -> bool:
    """True for what a ``.metadata`` holds."""
    return isinstance(root, Opaque) and root.made_by == f"{_HOME}.metadata.Metadata"


def pieces(root: object) -> Iterator[Piece]:
    """The items that a ``.metadata`` lists, in its order; none where it is no such pickle."""
    state = _dict(root.state) if isinstance(root, Opaque) else {}
    shapes = _dict(state.get("state_dict_metadata"))
    sizes: dict[str, dict[tuple[int, ...], int | None]] = {}
    for index, place in _dict(state.get("storage_data")).items():
        name, position = _fields(index, 2)
        file, offset, length, packed = _fields(place, 4)
        if not isinstance(name, str) or not isinstance(file, str):
            continue
        if not isinstance(offset, int) or not isinstance(length, int) or min(offset, length) < 0:
            continue
        if name not in sizes:
            sizes = {name: _chunks(shapes.get(name))}  # those of one tensor follow each other
        at = _numbers(position) or ()
        shown = f"{name}[{','.join(map(str, at))}]" if len(sizes[name]) > 1 else name
        chunk = shown is not name
        yield Piece(shown, file, offset, length, sizes[name].get(at), not packed, chunk)


def contradiction(root: object) -> str:
    """A contradiction inside a ``.metadata``, as a sentence; empty where there is none."""
    state = _dict(root.state) if isinstance(root, Opaque) else {}
    shapes = _dict(state.get("state_dict_metadata"))
    there: set[object] = set()
    for index in _dict(state.get("storage_data")):
        name = _fields(index, 2)[0]
        if not isinstance(name, str):
            return ".metadata gives a place for something that has no name"
        there.add(name)
        if name not in shapes:
            return f".metadata gives a place for {name}, but no type or shape"
    for name in shapes:
        if name not in there:
            return f".metadata gives a type and shape for {name}, but no place"
    for piece in pieces(root):
        if piece.plain and piece.data_bytes is not None and piece.data_bytes > piece.bytes:
            room = f"its item in {piece.file} has {piece.bytes}"
            return f"{piece.name} takes {piece.data_bytes} bytes, {room}"
    return ""


def _chunks(node: object) -> dict[tuple[int, ...], int | None]:
    """Bytes of the chunks of one tensor, by their offsets in it."""
    kind, chunks = _fields(node, 2)
    item = ITEM_BYTES.get(kind.name.removeprefix("torch.")) if isinstance(kind, Global) else None
    found: dict[tuple[int, ...], int | None] = {}
    for chunk in chunks if isinstance(chunks, tuple) else ():
        if not isinstance(chunk, tuple) or len(chunk) != 2:
            continue
        at, size = _numbers(chunk[0]), _numbers(chunk[1])
        if at is None or size is None:
            continue
        count = item
        for length in size:
            count = None if count is None else min(count * length, 1 << 62)
        found[at] = count
    return found


def _fields(node: object, count: int) -> tuple[object, ...]:
    """The tuple that :func:`compact` has kept; ``count`` times ``None`` for any other object."""
    state = node.state if isinstance(node, Opaque) else None
    return state if isinstance(state, tuple) and len(state) == count else (None,) * count


def _dict(node: object) -> dict[object, object]:
    return node if isinstance(node, dict) else {}


def _numbers(node: object) -> tuple[int, ...] | None:
    if isinstance(node, tuple) and all(isinstance(n, int) and n >= 0 for n in node):
        return node
    return None
