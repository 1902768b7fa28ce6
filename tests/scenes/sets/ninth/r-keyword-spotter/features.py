"""Log-mel features of the clips, with a cache on disk that a thread writes in the background."""
import json
import os
import threading
import time

import numpy as np


class FeatureCache:
    def __init__(self, path):
        self.path, self.lock, self.items = path, threading.Lock(), {}

    def get(self, key, make):
        with self.lock:
            if key in self.items:
                return self.items[key]
        value = make()
        with self.lock:
            self.items[key] = value
        return value

    def _write(self):
        with self.lock:
            with open(self.path + ".tmp", "w") as f:
                for key, value in self.items.items():
                    f.write(json.dumps([key, value.round(3).tolist()]) + "\n")
                    f.flush()
                    os.fsync(f.fileno())
                    time.sleep(0.01)    # the volume is a network file system: be gentle
            os.replace(self.path + ".tmp", self.path)

    def flush_in_background(self):
        threading.Thread(target=self._write, daemon=True).start()


def clip(k):
    rng = np.random.default_rng(k)
    word = k % 5
    t = np.arange(1600) / 8000
    return np.sin(2 * np.pi * (200 + 150 * word) * t) + rng.normal(0, 0.4, 1600), word


def log_mel(k):
    wave, _ = clip(k)
    spec = np.abs(np.fft.rfft(wave.reshape(8, 200) * np.hanning(200), axis=1))[:, :40]
    return np.log1p(spec).astype(np.float32)
