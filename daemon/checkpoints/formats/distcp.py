"""The ``.distcp`` files of a torch.distributed.checkpoint: small torch archives in sequence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from . import dcp, pickle_walk, progress, torch_tensors, torch_zip
from .bounded_file import BoundedFile, FileTooShort
from .dcp import Piece
from .extents import Extent, TensorAt
from .pickle_symbols import Tensor, TooLong
from .recognise import Progress

_MOST_TOLD = 50
"""Limit on the items that are opened to read a counter or a metric."""
_MOST_BEGINNINGS = 4096
"""Limit on the items whose first bytes are checked, as each takes a page. If there are more, those
checked are evenly spread."""


Rows = tuple[Piece, ...]
"""The items of one file by offset."""


def survey(metadata: BoundedFile) -> dict[str, Rows]:
    """The items that a ``.metadata`` lists, by file. Raises Malformed or TooLong."""
    if metadata.size > pickle_walk.WALK_LIMIT:
        raise TooLong(".metadata is too long to follow")
    try:
        root = pickle_walk.walk(metadata.read_at(0, metadata.size)).root
    except ValueError as error:
        raise torch_zip.Malformed(f".metadata: {error}") from None
    by_file: dict[str, list[Piece]] = {}
    for piece in dcp.pieces(root):
        by_file.setdefault(piece.file, []).append(piece)
    return {
        file: tuple(sorted(found, key=lambda piece: piece.offset))
        for file, found in by_file.items()
    }


class Row:
    """One item, opened. Raises Malformed if it is no whole archive or not the listed tensor."""

    def __init__(self, peek: BoundedFile, piece: Piece) -> None:
        self.piece = piece
        self.torch: torch_tensors.Torch | None = None
        self._archive: torch_zip.Archive | None = None
        try:
            self._window = peek.window(piece.offset, piece.bytes)
            if not piece.plain:
                return
            self._archive = torch_zip.read(self._window)
            self.torch = torch_tensors.of_archive(self._window, self._archive)
        except (torch_zip.Malformed, FileTooShort) as error:
            raise torch_zip.Malformed(f"{piece.name}: {error}") from None
        root = None if self.torch is None else self.torch.root
        if not isinstance(root, Tensor) or piece.data_bytes is None:
            return
        shown = root.bytes if root.shown is None else root.shown
        if shown != piece.data_bytes:
            detail = f"{shown} bytes, .metadata says {piece.data_bytes}"
            raise torch_zip.Malformed(f"{piece.name} has {detail}")

    @property
    def globals(self) -> tuple[str, ...]:
        """The names that its pickle would import."""
        walk = None if self._archive is None else self._archive.walk
        return () if walk is None else walk.globals

    def records(self) -> Sequence[Extent]:
        """The members of its archive."""
        if self._archive is None:
            return ()
        return torch_tensors.members(self._window, self._archive, f"{self.piece.name}/")

    def number(self) -> float | None:
        """Its value, if it is a number or a tensor with one element; else ``None``."""
        if self.torch is None:
            return None
        root = self.torch.root
        if isinstance(root, Tensor):
            return torch_tensors.value_of(self.torch, root) if root.scalar else None
        return pickle_walk.number(root)

    def tensors(self) -> Iterator[TensorAt | None]:
        """Its floating-point tensors; ``None`` for one whose place or type is not known."""
        if self.torch is None:
            yield None
            return
        name = self.piece.name
        lone = isinstance(self.torch.root, Tensor)
        weight = not torch_tensors.is_memory(name.partition(".")[0])
        for tensor in torch_tensors.tensors_of(self.torch):
            if tensor is None:
                yield None
            else:
                inside = name if lone else f"{name}.{tensor.name}"
                chunk = lone and self.piece.chunk
                of = name.rpartition("[")[0] if chunk else inside if tensor.of else ""
                scalar = tensor.scalar and not chunk
                yield replace(tensor, name=inside, scalar=scalar, weight=weight, of=of)


def progress_of(peek: BoundedFile, found: Sequence[Piece]) -> Progress:
    """Progress from the items of one file whose names are those of counters and metrics."""
    told: dict[object, object] = {}
    for piece in found:
        first, _, rest = piece.name.partition(".")
        if not progress.is_told_by(rest or first) or len(told) >= _MOST_TOLD:
            continue
        try:
            number = Row(peek, piece).number()
        except torch_zip.Malformed:
            continue  # reported when the data is read
        inside = told.setdefault(first, {}) if rest else told
        if isinstance(inside, dict):
            inside[rest or first] = number
    return progress.told_by(told, lambda tensor: None)


def check_beginnings(peek: BoundedFile, found: Sequence[Piece]) -> None:
    """Check that every item of a file begins like an archive. Raises Malformed."""
    stride = -(-len(found) // _MOST_BEGINNINGS) or 1
    for piece in found[::stride]:
        head = peek.read_up_to(piece.offset, len(torch_zip.LOCAL_MAGIC))
        if piece.plain and head != torch_zip.LOCAL_MAGIC:
            what = "something else" if any(head) else "zeroes"
            raise torch_zip.Malformed(f"{what} where {piece.name} should begin")
