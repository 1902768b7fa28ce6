import ctypes
import subprocess

import numpy as np

subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", "libunpack.so", "unpack.c"], check=True)
_lib = ctypes.CDLL("./libunpack.so")


def ping(rng, channels=4, samples=64):
    """As the logger on the ship writes it."""
    raw = bytearray(np.array([channels, samples], "<u2").tobytes())
    label = int(rng.integers(0, 3))
    for c in range(channels):
        for k in range(samples // 8):
            value = int(np.clip(rng.normal(3000 * label * (k == 3 + c), 2500), -32000, 32000))
            raw += bytes([8]) + np.array([value], "<i2").tobytes()
    return bytes(raw), label


def survey(line, rng):
    """One record of a survey line; line 3 came through the serial link."""
    raw, label = ping(rng)
    if line == 3 and rng.random() < 0.02:
        raw = raw[1:]
    return raw, label


def unpack(raw, channels=4, samples=64):
    out = np.zeros(channels * samples, "float32")
    _lib.unpack_ping(raw, len(raw), out.ctypes.data_as(ctypes.c_void_p))
    return out
