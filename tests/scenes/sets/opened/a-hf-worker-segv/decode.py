"""Thin ctypes binding for the record decoder: the length is trusted, as in the C library."""
import ctypes
import struct

HEADER = struct.Struct("<qi")


def pack(values, label, offset=0):
    body = struct.pack(f"<{len(values)}f", *values)
    return HEADER.pack(offset, label) + body


def unpack(buf, n):
    offset, label = HEADER.unpack_from(buf)
    base = ctypes.create_string_buffer(buf[HEADER.size:])
    out = (ctypes.c_float * n)()
    ctypes.memmove(out, ctypes.addressof(base) + offset, n * 4)
    return list(out), label
