"""Lectura de fragmentos de voz en segundo plano."""
import queue
import threading
import wave

import numpy as np


def leer(ruta):
    with wave.open(ruta, "rb") as w:
        pcm = np.frombuffer(w.readframes(w.getnframes()), dtype="<i2").astype("float32") / 32768.0
    cuadros = pcm[: len(pcm) // 200 * 200].reshape(-1, 200)
    return np.log1p(np.abs(np.fft.rfft(cuadros, axis=1))[:30, :40])


class Lector(threading.Thread):
    def __init__(self, lista, lote):
        super().__init__(daemon=True, name="lector")
        self.lista, self.lote = lista, lote
        self.cola = queue.Queue(maxsize=4)

    def run(self):
        xs, ys = [], []
        while True:
            for ruta, clase in self.lista:
                xs.append(leer(ruta))
                ys.append(clase)
                if len(xs) == self.lote:
                    self.cola.put((np.stack(xs), np.array(ys)))
                    xs, ys = [], []

    def lotes(self):
        while True:
            yield self.cola.get()
