"""MindSpore's ``.ckpt``: a protobuf of named tensors (mindspore/ccsrc/utils/checkpoint.proto)."""

from __future__ import annotations

from ..bounded_file import BoundedFile
from ..dtypes import FLOATING, ITEM_BYTES
from ..extents import Contents, Extent, TensorAt
from ..recognise import UNTOLD, Progress
from ..torch_zip import Malformed
from . import protobuf
from .protobuf import BYTES, Field

_SUM = b"crc_num"
"""save_checkpoint(crc_check=True) appends this and ten digits: the CRC-32 of what is before."""
_SUM_BYTES = len(_SUM) + 10
_COUNTERS = {"step_num": "step", "epoch_num": "epoch"}


def looks_like(head: bytes) -> bool:
    """Whether a file can begin so: a value with a tag of printable letters."""
    if head[:1] != b"\x0a":
        return False
    at = 1
    while at < min(11, len(head)) and head[at] >= 0x80:
        at += 1
    at += 1
    if len(head) < at + 3 or head[at] != 0x0A:
        return False
    tag = head[at + 2 : at + 2 + min(head[at + 1], 100)]
    return bool(tag) and tag.isascii() and tag.decode("ascii", "replace").isprintable()


def read(peek: BoundedFile, path: str) -> Contents:
    """See the package."""
    end = peek.size
    records: tuple[Extent, ...] = ()
    tail = peek.read_up_to(max(0, peek.size - _SUM_BYTES), _SUM_BYTES)
    if tail.startswith(_SUM) and tail[len(_SUM) :].strip().isdigit():
        end -= _SUM_BYTES
        records = (Extent("all of it", peek.begin, end, int(tail[len(_SUM) :])),)
    found: list[TensorAt | None] = []
    told: dict[str, float] = {}
    for field in protobuf.fields(peek, 0, end):
        if field.number != 1 or field.wire != BYTES:
            raise Malformed(f"an unknown field at byte {field.start}")
        _value(peek, field, found, told)
    placed = tuple(t for t in found if t is not None)
    step = told.get("step")
    progress = Progress(step, told.get("epoch"), {}, "checkpoint") if step is not None else UNTOLD
    return Contents(
        records,
        placed,
        len(found) - len(placed),
        progress,
        () if records else ("no checksums in it",),
    )


def _value(
    peek: BoundedFile, value: Field, found: list[TensorAt | None], told: dict[str, float]
) -> None:
    parts = {f.number: f for f in protobuf.fields(peek, value.start, value.end)}
    if 1 not in parts:
        raise Malformed(f"a value at byte {value.start} without a name")
    name = protobuf.text(peek, parts[1])
    if 2 not in parts:
        return
    dims: list[int] = []
    kind, data = "", None
    for field in protobuf.fields(peek, parts[2].start, parts[2].end):
        if field.number == 1:
            dims += protobuf.numbers(peek, field)
        elif field.number == 2:
            kind = protobuf.text(peek, field).lower()
        elif field.number == 3:
            data = field
    if data is None:
        raise Malformed(f"{name} has no content")
    count = data.end - data.start
    wanted = protobuf.total(dims) * ITEM_BYTES.get(kind, 0)
    if kind in ITEM_BYTES and count > wanted:
        # a large tensor comes in several values of one name, each with the shape of all: fewer are right
        raise Malformed(f"{name}: its shape takes {wanted} bytes, there are {count}")
    if name in _COUNTERS and kind.startswith("int") and count in (4, 8):
        told[_COUNTERS[name]] = float(
            int.from_bytes(peek.read_at(data.start, count), "little", signed=True)
        )
    if kind in FLOATING and count:
        found.append(TensorAt(name, kind, peek.begin + data.start, count, count == FLOATING[kind]))
