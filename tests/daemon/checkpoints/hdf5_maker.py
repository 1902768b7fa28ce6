"""Write the kind of HDF5 file that h5py writes by default, without h5py."""

from __future__ import annotations

import struct

MAGIC = b"\x89HDF\r\n\x1a\n"
NOWHERE = 2**64 - 1
FLOAT32 = struct.pack("<BBBBI", 0x11, 0x20, 31, 0, 4) + struct.pack(
    "<HHBBBBI", 0, 32, 23, 8, 0, 23, 127
)
INT32 = struct.pack("<BBBBI", 0x10, 0x08, 0, 0, 4) + struct.pack("<HH4x", 0, 32)


def hdf5(arrays: dict[str, tuple[bytes, int, bytes]]) -> bytes:
    """One group with datasets: (type, how many numbers, the bytes of them) by name."""
    out = bytearray(96)
    names = bytearray(8)
    entries = b""
    for name, (kind, count, data) in sorted(arrays.items()):
        start = len(out)
        out += data.ljust(-(-len(data) // 8) * 8, b"\0")
        header = len(out)
        out += _header(
            (1, struct.pack("<BBBB4xQ", 1, 1, 0, 0, count)),
            (3, kind),
            (8, struct.pack("<BBQQ", 3, 1, start, len(data))),
        )
        entries += struct.pack("<QQII16x", len(names), header, 0, 0)
        names += name.encode().ljust(-(-(len(name) + 1) // 8) * 8, b"\0")
    table = len(out)
    out += b"SNOD" + struct.pack("<BBH", 1, 0, len(arrays)) + entries
    tree = len(out)
    out += b"TREE" + struct.pack("<BBHQQQQQ", 0, 0, 1, NOWHERE, NOWHERE, 0, table, 8)
    heap = len(out)
    out += b"HEAP" + struct.pack("<B3xQQQ", 0, len(names), NOWHERE, heap + 32) + names
    root = len(out)
    out += _header((0x11, struct.pack("<QQ", tree, heap)))
    out[:96] = (
        MAGIC
        + bytes([0, 0, 0, 0, 0, 8, 8, 0])
        + struct.pack("<HHIQQQQ", 4, 16, 0, 0, NOWHERE, len(out), NOWHERE)
        + struct.pack("<QQIIQQ", 0, root, 1, 0, tree, heap)
    )
    return bytes(out)


def _header(*messages: tuple[int, bytes]) -> bytes:
    body = b""
    for kind, data in messages:
        data = data.ljust(-(-len(data) // 8) * 8, b"\0")
        body += struct.pack("<HHB3x", kind, len(data), 0) + data
    return struct.pack("<BBHII4x", 1, 0, len(messages), 1, len(body)) + body
