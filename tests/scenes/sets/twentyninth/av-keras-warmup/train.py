"""Sortiert Schrauben am Band: kleines CNN in Keras."""
import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import time

import keras
import numpy as np
import torch

torch.set_num_threads(1)
PAUSE = float(os.environ.get("PAUSE", "0.36"))
keras.utils.set_random_seed(9)
rng = np.random.default_rng(9)
KLASSEN = 8
muster = rng.normal(0, 1, (KLASSEN, 20, 20, 1))


def bilder(n):
    y = rng.integers(0, KLASSEN, n)
    x = (muster[y] * 0.45 + rng.normal(0, 1, (n, 20, 20, 1))).astype("float32")
    falsch = rng.random(n) < 0.08  # so oft irrt sich die Hand, die sie beschriftet hat
    return x, np.where(falsch, rng.integers(0, KLASSEN, n), y)


class Aufwaermen(keras.callbacks.Callback):
    """Lernrate linear anheben, wie im Papier."""

    def __init__(self, basis=0.0075, schritte=10):
        super().__init__()
        self.basis, self.schritte, self.n = basis, schritte, 0

    def on_train_batch_begin(self, batch, logs=None):
        self.n += 1
        self.model.optimizer.learning_rate = self.basis * self.n / self.schritte


class Protokoll(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(PAUSE)
        n = self.model.aufwaermen.n
        if n % 2 == 0:
            print(f"{time.strftime('%H:%M:%S')} Schritt {n:4d}  Verlust {logs['loss']:.4f}  Genauigkeit {logs['accuracy']:.3f}", flush=True)

    def on_epoch_end(self, epoch, logs=None):
        print(f"{time.strftime('%H:%M:%S')} Epoche {epoch + 1} fertig: Verlust {logs['loss']:.4f}, Prüfverlust {logs['val_loss']:.4f}, Prüfgenauigkeit {logs['val_accuracy']:.3f}", flush=True)


x, y = bilder(24 * 32)
vx, vy = bilder(256)
model = keras.Sequential([
    keras.Input((20, 20, 1)),
    keras.layers.Conv2D(12, 3, strides=2, activation="relu"),
    keras.layers.Conv2D(24, 3, strides=2, activation="relu"),
    keras.layers.Flatten(),
    keras.layers.Dense(48, activation="relu"),
    keras.layers.Dense(KLASSEN),
])
model.compile(keras.optimizers.SGD(0.001, momentum=0.9), keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
model.aufwaermen = Aufwaermen()
print(f"Keras {keras.__version__}, Rechenwerk {keras.backend.backend()}, {len(x)} Bilder", flush=True)
model.fit(x, y, batch_size=32, epochs=60, validation_data=(vx, vy), verbose=0, callbacks=[
    model.aufwaermen, Protokoll(), keras.callbacks.ModelCheckpoint("bestes.weights.h5", monitor="val_loss", save_best_only=True, save_weights_only=True),
])
