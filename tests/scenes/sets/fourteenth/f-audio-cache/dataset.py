import pickle
import threading
import time

import numpy as np
from torch.utils.data import Dataset


class FeatureCache:
    """mel features are slow to compute, keep them around and on disk"""

    def __init__(self, path):
        self.path, self.data, self.lock = path, {}, threading.Lock()

    def get(self, key, make):
        with self.lock:
            if key not in self.data:
                self.data[key] = make()
            return self.data[key]

    def dump(self):
        with self.lock:
            with open(self.path, "wb") as f:
                for k, v in self.data.items():
                    pickle.dump((k, v), f)
                    f.flush()
                    time.sleep(0.01)  # be nice to the shared NFS

    def dump_in_background(self):
        threading.Thread(target=self.dump, daemon=True).start()


class Clips(Dataset):
    def __init__(self, n, classes, cache):
        self.n, self.classes, self.cache = n, classes, cache

    def __len__(self):
        return self.n

    def _mel(self, i):
        rng = np.random.default_rng(i)
        t = np.arange(2048) / 8000
        wave = np.sin(2 * np.pi * (200 + 150 * (i % self.classes)) * t) + rng.normal(0, 0.6, t.size)
        return np.log1p(np.abs(np.fft.rfft(wave.reshape(16, 128), axis=1))).astype("float32").mean(0)

    def __getitem__(self, i):
        time.sleep(0.01)
        return self.cache.get(i, lambda: self._mel(i)), i % self.classes
