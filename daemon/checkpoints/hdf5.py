"""HDF5, which Keras writes (``.h5``, and inside ``.keras``): is the file as long as it says?

The superblock holds the address at which the file ends. Layout: HDF5 File Format Specification
3.0, section II.A.
"""

from __future__ import annotations

from .archives import Broken
from .formats import HDF5_MAGIC
from .peek import Peek

_END_AT = {0: 40, 1: 44, 2: 28, 3: 28}
"""Where in the superblock the end-of-file address lies, by version."""
_OPEN_FOR_WRITING = 0x01


def check(peek: Peek) -> str:
    """Check one file; what is to be said of a whole one. Raises Broken or Cut."""
    head = peek.upto(0, 64)
    if not head.startswith(HDF5_MAGIC):
        raise Broken("it does not begin like HDF5")
    if len(head) < 64:
        raise Broken(f"{len(head)} bytes are too few for an HDF5 file")
    version = head[8]
    if version not in _END_AT:
        return f"an HDF5 superblock of version {version}: its length is not checked"
    if head[13 if version < 2 else 9] != 8:
        return "an HDF5 file with short addresses: its length is not checked"
    at = _END_AT[version]
    base = int.from_bytes(head[at - 16 : at - 8], "little")
    end = base + int.from_bytes(head[at : at + 8], "little")
    if peek.size < end:
        raise Broken(f"the file is cut off: {end - peek.size} of {end} bytes are missing")
    if version == 3 and head[11] & _OPEN_FOR_WRITING:
        raise Broken("it was never closed by the program that wrote it")
    return ""
