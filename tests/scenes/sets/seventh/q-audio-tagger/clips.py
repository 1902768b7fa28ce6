"""Packed clip files: 8 byte head (offset, samples), then float32 samples. Read through ctypes because it is faster."""
import ctypes
import mmap
import os
import struct

import numpy as np
import torch
from torch.utils.data import Dataset

CLIP = 1600


def write_pack(path, n=2400):
    if os.path.exists(path):
        return
    rng = np.random.default_rng(3)
    with open(path, "wb") as f:
        for i in range(n):
            y = i % 4
            wave = np.sin(np.arange(CLIP) * (0.02 + 0.03 * y)) + 0.6 * rng.standard_normal(CLIP)
            samples = CLIP
            if i == 1713:                     # recorder was stopped while the head was written
                samples = 0x3FFFFFF0
            f.write(struct.pack("<II", y, samples))
            f.write(wave.astype(np.float32).tobytes())


class ClipPack(Dataset):
    def __init__(self, path):
        self.path, self.rec = path, 8 + CLIP * 4
        self.n = os.path.getsize(path) // self.rec
        self.mm = None

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if self.mm is None:
            self.f = open(self.path, "rb")
            self.mm = mmap.mmap(self.f.fileno(), 0, flags=mmap.MAP_PRIVATE)
            self.base = ctypes.addressof(ctypes.c_char.from_buffer(self.mm))
        y, samples = struct.unpack_from("<II", self.mm, i * self.rec)
        out = np.zeros(CLIP, dtype=np.float32)
        ctypes.memmove(out.ctypes.data, self.base + i * self.rec + 8, samples * 4)
        return torch.from_numpy(out), y
