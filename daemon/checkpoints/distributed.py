"""What ``.metadata`` of a torch.distributed.checkpoint tells about the files beside it.

It is a pickle of torch.distributed.checkpoint.metadata.Metadata: ``storage_data`` says where in
which file every piece lies, ``state_dict_metadata`` what type and shape the pieces have.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .dtypes import ITEM_BYTES
from .symbols import Global, Opaque


class Piece(NamedTuple):
    """One row of a ``.distcp`` file: an archive of its own, with one tensor or one object."""

    name: str
    """Of the tensor in the state dict; ``model.w[4,0]`` for a part of one."""
    file: str
    offset: int
    bytes: int
    """Length of the row: the archive around the data counts."""
    data_bytes: int | None
    """What the tensor alone takes; ``None`` for objects and where it is not told."""
    plain: bool = True
    """The row is an archive as it is, not packed by an extension."""


def pieces(root: object) -> Iterator[Piece]:
    """The rows that a ``.metadata`` names, in its order; nothing where it is no such pickle."""
    state = _state(root)
    shapes = _dict(state.get("state_dict_metadata"))
    sizes: dict[str, dict[tuple[int, ...], int | None]] = {}
    for index, place in _dict(state.get("storage_data")).items():
        what, where = _state(index), _state(place)
        name, file = what.get("fqn"), where.get("relative_path")
        offset, length = where.get("offset"), where.get("length")
        if not isinstance(name, str) or not isinstance(file, str):
            continue
        if not isinstance(offset, int) or not isinstance(length, int) or min(offset, length) < 0:
            continue
        if name not in sizes:
            sizes[name] = _chunks(shapes.get(name))
        at = _numbers(what.get("offset")) or ()
        shown = f"{name}[{','.join(map(str, at))}]" if len(sizes[name]) > 1 else name
        plain = not where.get("transform_descriptors")
        yield Piece(shown, file, offset, length, sizes[name].get(at), plain)


def contradiction(root: object) -> str:
    """What does not agree inside a ``.metadata``, as a sentence; empty where all does."""
    state = _state(root)
    shapes = _dict(state.get("state_dict_metadata"))
    there: set[object] = set()
    for index in _dict(state.get("storage_data")):
        name = _state(index).get("fqn")
        there.add(name)
        if name not in shapes:
            return f".metadata says where {name} lies, and does not know it"
    for name in shapes:
        if name not in there:
            return f".metadata knows {name}, and does not say where it lies"
    for piece in pieces(root):
        if piece.plain and piece.data_bytes is not None and piece.data_bytes > piece.bytes:
            room = f"its row in {piece.file} has {piece.bytes}"
            return f"{piece.name} takes {piece.data_bytes} bytes, {room}"
    return ""


def _chunks(node: object) -> dict[tuple[int, ...], int | None]:
    """Bytes of the chunks of one tensor, by their offsets in it."""
    state = _state(node)
    properties = state.get("properties")
    fields = properties.state if isinstance(properties, Opaque) else None
    kind = (
        next(iter(fields), None) if isinstance(fields, tuple) else _state(properties).get("dtype")
    )
    dtype = kind.name.removeprefix("torch.") if isinstance(kind, Global) else ""
    item = ITEM_BYTES.get(dtype)
    found: dict[tuple[int, ...], int | None] = {}
    chunks = state.get("chunks")
    for chunk in chunks if isinstance(chunks, list) else ():
        at, size = _numbers(_state(chunk).get("offsets")), _numbers(_state(chunk).get("sizes"))
        if at is None or size is None:
            continue
        count = item
        for length in size:
            count = None if count is None else min(count * length, 1 << 62)
        found[at] = count
    return found


def _state(node: object) -> dict[object, object]:
    """The fields of an object."""
    return _dict(node.state) if isinstance(node, Opaque) else {}


def _dict(node: object) -> dict[object, object]:
    return node if isinstance(node, dict) else {}


def _numbers(node: object) -> tuple[int, ...] | None:
    if isinstance(node, tuple) and all(isinstance(n, int) and n >= 0 for n in node):
        return node
    return None
