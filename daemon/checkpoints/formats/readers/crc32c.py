"""CRC-32C (Castagnoli) of short data: zlib has another polynomial. 0.3 s a MiB."""

from __future__ import annotations

_POLYNOMIAL = 0x82F63B78


def _table() -> tuple[int, ...]:
    found = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ (_POLYNOMIAL if value & 1 else 0)
        found.append(value)
    return tuple(found)


_TABLE = _table()
LONGEST = 256 << 10
"""Bytes: more is not worth the time."""


def crc32c(data: bytes) -> int:
    """The checksum of some bytes."""
    value = 0xFFFFFFFF
    for byte in data:
        value = _TABLE[(value ^ byte) & 0xFF] ^ (value >> 8)
    return value ^ 0xFFFFFFFF


def unmasked(stored: int) -> int:
    """What LevelDB and TensorFlow mean by a checksum that they store."""
    turned = (stored - 0xA282EAD8) & 0xFFFFFFFF
    return ((turned >> 17) | (turned << 15)) & 0xFFFFFFFF
