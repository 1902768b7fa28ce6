"""A tar archive with files of torch in it: ``.nemo``. Every header has a checksum; the data has none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..bounded_file import BoundedFile
from ..extents import Contents
from ..torch_zip import Malformed

_BLOCK = 512
_MOST = 10_000


class Inside(NamedTuple):
    """One file of an archive."""

    name: str
    start: int
    bytes: int


def read(peek: BoundedFile, path: str) -> Contents:
    """See the package."""
    if not any(True for _ in members(peek)):
        raise Malformed("an empty archive")
    return Contents(
        notes=("an archive: the files in it are checked, it has no checksums of its own",)
    )


def members(peek: BoundedFile) -> Iterator[Inside]:
    """The files of an archive. Raises Malformed or FileTooShort."""
    at = count = 0
    while True:
        head = peek.read_at(at, _BLOCK)
        if not any(head):
            return  # two blocks of zeroes end it
        told = sum(head[:148]) + 8 * 32 + sum(head[156:])
        if _octal(head[148:156]) != told:
            raise Malformed(f"the header at byte {at} does not match its checksum")
        size = _octal(head[124:136])
        peek.window(at + _BLOCK, size)  # FileTooShort where it is cut off
        if head[156:157] in (b"0", b"\0"):
            yield Inside(head[:100].rstrip(b"\0").decode("utf-8", "replace"), at + _BLOCK, size)
        at += _BLOCK + -(-size // _BLOCK) * _BLOCK
        count += 1
        if count > _MOST:
            raise Malformed(f"more than {_MOST} files in it")


def _octal(digits: bytes) -> int:
    if digits[:1] == b"\x80":  # of GNU, for more than 8 GiB
        return int.from_bytes(digits[1:], "big")
    try:
        return int(digits.rstrip(b" \0") or b"0", 8)
    except ValueError:
        raise Malformed("a damaged header in the archive") from None
