import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import time

import keras
import numpy as np
import torch

torch.set_num_threads(1)
keras.utils.set_random_seed(1)
PACE = float(os.environ.get("PACE", 0.05))
WORDS = ["yes", "no", "up", "down", "left", "right", "on", "off"]


def mfcc(n, r):
    y = r.integers(0, len(WORDS), n)
    t = np.linspace(0, 1, 32)[:, None]
    c = np.arange(16)[None]
    x = np.stack([np.sin(2 * np.pi * (t * (1 + k % 4) + c * (0.07 + 0.04 * (k // 4)))) for k in y])
    return (x * r.uniform(0.5, 1.5, (n, 1, 1)) + r.normal(0, 1.3, x.shape)).astype("float32"), y


r = np.random.default_rng(2)
x, y = mfcc(480, r)
xv, yv = mfcc(160, r)
model = keras.Sequential([
    keras.Input((32, 16)),
    keras.layers.Conv1D(24, 5, activation="relu"),
    keras.layers.MaxPooling1D(2),
    keras.layers.Conv1D(24, 5, activation="relu"),
    keras.layers.GlobalAveragePooling1D(),
    keras.layers.Dropout(0.2),
    keras.layers.Dense(len(WORDS), activation="softmax"),
])
model.compile(keras.optimizers.Adam(1e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])


def schedule(epoch, lr):
    if epoch >= 110:
        return 1e-5
    if epoch >= 64:
        return 1e-1
    return 1e-3


class Pace(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(PACE)


model.fit(x, y, batch_size=32, validation_data=(xv, yv), epochs=240, verbose=2, callbacks=[
    Pace(),
    keras.callbacks.LearningRateScheduler(schedule),
    keras.callbacks.ModelCheckpoint("kws_last.keras"),
])
