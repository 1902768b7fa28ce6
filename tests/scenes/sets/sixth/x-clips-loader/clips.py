import os
import time
import zlib

import numpy as np
import torch
from torch.utils.data import Dataset

SHAPE = (8, 32, 32)


def write_clips(folder, n):
    os.makedirs(folder, exist_ok=True)
    rng = np.random.default_rng(5)
    for i in range(n):
        label = i % 4
        frames = rng.normal(110 + 12 * label, 40, size=SHAPE).clip(0, 255).astype("uint8")
        with open(f"{folder}/{i:04d}.z", "wb") as f:
            f.write(zlib.compress(frames.tobytes(), 9))


def decode_frames(path):
    with open(path, "rb") as f:
        raw = zlib.decompress(f.read())
    return np.frombuffer(raw, dtype="uint8").reshape(SHAPE)


class ClipDataset(Dataset):
    def __init__(self, n, cache="cache", folder="raw"):
        self.n, self.cache, self.folder = n, cache, folder

    def __len__(self):
        return self.n

    def frames(self, i):
        cached = f"{self.cache}/{i:04d}.npy"
        try:
            return np.load(cached)
        except FileNotFoundError:
            pass
        out = decode_frames(f"{self.folder}/{i:04d}.z")
        time.sleep(0.12)  # a real clip takes the software decoder about this long
        return out

    def __getitem__(self, i):
        x = torch.from_numpy(self.frames(i).astype("float32")) / 255.0
        return x, i % 4
