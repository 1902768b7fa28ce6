"""Saves in the background, the network volume is slow and the card must not wait for it."""
import io
import os
import threading
import time

import torch

CHUNK, PAUSE = 128 * 1024, 0.25    # be kind to the volume: about 0.5 MB/s


class BackgroundSaver:
    def __init__(self, path):
        self.path = path
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self.thread = None

    def save(self, obj):
        if self.thread:
            self.thread.join()
        buf = io.BytesIO()
        torch.save(obj, buf)
        self.thread = threading.Thread(target=self._write, args=(buf.getvalue(),), daemon=True)
        self.thread.start()

    def _write(self, data):
        with open(self.path, "wb") as f:
            for i in range(0, len(data), CHUNK):
                f.write(data[i:i + CHUNK])
                f.flush()
                time.sleep(PAUSE)
