"""Speaker packs with a small on-disk feature cache that all loader workers share."""
import contextlib
import fcntl
import os
import random
import time

import numpy as np
import torch
from torch.utils.data import Dataset

SPEAKERS = ["p225", "p226", "p227", "p228"]
CLIPS, FRAMES, MELS = 80, 24, 20


@contextlib.contextmanager
def pack_lock(cache, speaker):
    """One reader at a time per pack: the memory maps of the packs are rewritten in place."""
    with open(os.path.join(cache, speaker + ".lock"), "w") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(f, fcntl.LOCK_UN)


def build(cache):
    os.makedirs(cache, exist_ok=True)
    rng = np.random.default_rng(0)
    for k, s in enumerate(SPEAKERS):
        base = rng.normal(0, 1, (1, 1, MELS))
        np.save(os.path.join(cache, s + ".npy"),
                (base + rng.normal(0, 1.2, (8, FRAMES, MELS))).astype(np.float16))


class SpeechMix(Dataset):
    def __init__(self, cache):
        self.cache, self.mix = cache, False

    def __len__(self):
        return CLIPS * len(SPEAKERS)

    def read(self, speaker):
        time.sleep(0.012)  # seek + decode
        pack = np.load(os.path.join(self.cache, speaker + ".npy"), mmap_mode="r")
        return np.array(pack[random.randrange(len(pack))], np.float32)

    def __getitem__(self, i):
        a = SPEAKERS[i % len(SPEAKERS)]
        with pack_lock(self.cache, a):
            x = self.read(a)
            if self.mix:
                # second speaker from another pack, same gain range as in the paper
                b = random.choice([s for s in SPEAKERS if s != a])
                with pack_lock(self.cache, b):
                    x = x + 0.4 * self.read(b)
        x = x + np.random.normal(0, 0.3, x.shape).astype(np.float32)
        return torch.from_numpy(x), SPEAKERS.index(a)
