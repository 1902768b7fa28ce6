"""Despeckling of ultrasound patches, Keras 3 on jax."""
import time

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(2)
rng = np.random.default_rng(2)


def patches(n):
    grid = np.linspace(0, 3, 12)
    a, b = rng.uniform(0.5, 2, (2, n, 1, 1))
    clean = np.sin(a * grid[None, :, None]) * np.cos(b * grid[None, None, :])
    noisy = clean * (1 + 0.4 * rng.standard_normal(clean.shape))
    return noisy[..., None].astype("float32"), clean[..., None].astype("float32")


class Pace(keras.callbacks.Callback):
    """what the convolutions of the big model cost on this box"""

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.15)


def schedule(epoch, lr):
    # drop by ten every eight epochs
    base = 1e-3
    return base * 10.0 ** (epoch // 8)


model = keras.Sequential([
    keras.Input((12, 12, 1)),
    layers.Flatten(),
    layers.Dense(96, activation="relu"),
    layers.Dense(96, activation="relu"),
    layers.Dense(144),
    layers.Reshape((12, 12, 1)),
])
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mse", metrics=["mae"])
x, y = patches(640)
xv, yv = patches(128)
model.fit(
    x, y, batch_size=64, epochs=60, verbose=2, validation_data=(xv, yv),
    callbacks=[
        keras.callbacks.LearningRateScheduler(schedule),
        keras.callbacks.CSVLogger("history.csv"),
        keras.callbacks.ModelCheckpoint("last.keras"),
        Pace(),
    ],
)
model.save("final.keras")
