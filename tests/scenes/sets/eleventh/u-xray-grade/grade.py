import os
import time

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras
import numpy as np
import torch
from keras import layers

torch.set_num_threads(1)
keras.utils.set_random_seed(12)
CONFIG = {"peak_lr": 0.02, "warmup": 60, "warmup_start": 0.25, "epochs": 120, "batch": 32}


def films(n, seed):
    r = np.random.default_rng(seed)
    y = r.integers(0, 3, n)
    x = r.normal(0, 0.3, (n, 24, 24, 1)).astype("float32")
    yy, xx = np.mgrid[:24, :24]
    for k, c in enumerate(y):
        cx, cy = r.integers(6, 18, 2)
        x[k, :, :, 0] += np.exp(-((xx - cx) ** 2 + (yy - cy) ** 2) / (4.0 + 14.0 * c))
    return x, y


class WarmUp(keras.callbacks.Callback):
    """Geometric warm-up to the peak, constant afterwards."""

    def on_epoch_begin(self, epoch, logs=None):
        ramp = CONFIG["warmup_start"] * (1 / CONFIG["warmup_start"]) ** (min(epoch, CONFIG["warmup"]) / 6)
        self.model.optimizer.learning_rate = CONFIG["peak_lr"] * ramp

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.06)


xtr, ytr = films(640, 1)
xva, yva = films(192, 2)
model = keras.Sequential([
    layers.Input((24, 24, 1)),
    layers.Conv2D(8, 3, strides=2, activation="relu"),
    layers.Conv2D(16, 3, strides=2, activation="relu"),
    layers.Flatten(), layers.Dense(32, activation="relu"), layers.Dense(3),
])
model.compile(keras.optimizers.SGD(CONFIG["peak_lr"], momentum=0.9, clipnorm=1.0),
              keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
print(f"backend {keras.backend.backend()}, {model.count_params()} parameters, {len(xtr)} films")
os.makedirs("models", exist_ok=True)
model.fit(xtr, ytr, epochs=CONFIG["epochs"], batch_size=CONFIG["batch"], validation_data=(xva, yva), verbose=2, callbacks=[
    WarmUp(), keras.callbacks.CSVLogger("history.csv"), keras.callbacks.ModelCheckpoint("models/last.keras")])
