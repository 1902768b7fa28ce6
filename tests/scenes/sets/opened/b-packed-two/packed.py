"""Reader of packed token files: one flat block, an index of offsets, copies done by the C library."""
import ctypes

import numpy as np


class Packed:
    def __init__(self, n, length, seed, vocab=400):
        rng = np.random.default_rng(seed)
        self.length = length
        start = rng.integers(0, vocab, size=(n, 1))
        self.block = np.ascontiguousarray((start + 7 * np.arange(length)) % vocab, dtype=np.int64)
        self.offsets = np.arange(n, dtype=np.int64) * self.block.itemsize * length
        self.base = self.block.ctypes.data

    def damage(self, i):
        """What a half-written index block looks like after a resumed download."""
        self.offsets[i] = np.int64(0x3F3F3F3F3F3F)

    def read(self, i):
        out = np.empty(self.length, dtype=np.int64)
        ctypes.memmove(out.ctypes.data, int(self.base + self.offsets[i]), out.nbytes)
        return out
