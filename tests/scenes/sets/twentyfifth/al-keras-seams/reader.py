"""Liest Saetze aus der gepackten Datei; ein Dateigriff fuer alle Faeden."""
import struct
import threading
import zlib

import keras
import numpy as np

SIDE = 20
SIZE = 4 + 1 + SIDE * SIDE


class Seams(keras.utils.PyDataset):
    def __init__(self, path, batch=4, **kw):
        super().__init__(**kw)
        self.path, self.batch = path, batch
        self.lock = threading.Lock()
        self.handle = open(path, "rb")
        self.handle.seek(0, 2)
        self.n = self.handle.tell() // SIZE

    def __len__(self):
        return self.n // self.batch

    def reopen(self):
        # nach einem Lesefehler (Netzlaufwerk) hilft ein neuer Griff
        with self.lock:
            self.handle.close()
            self.handle = open(self.path, "rb")

    def read(self, i):
        with self.lock:
            for _ in range(3):
                self.handle.seek(i * SIZE)
                raw = self.handle.read(SIZE)
                crc, body = struct.unpack("<I", raw[:4])[0], raw[4:]
                if zlib.crc32(body) == crc:
                    return body
                self.reopen()
        raise OSError(f"Satz {i}: Pruefsumme falsch")

    def __getitem__(self, b):
        xs, ys = [], []
        for i in range(b * self.batch, (b + 1) * self.batch):
            body = self.read(i)
            img = np.frombuffer(body[1:], np.uint8).reshape(SIDE, SIDE, 1).astype("float32") / 128 - 1
            # zwei Fassungen jedes Bildes
            for q in range(0, 4, 2):
                xs.append(np.rot90(img, q))
                ys.append(body[0])
        return np.stack(xs), np.array(ys)
