"""Denoiser in Keras; a callback keeps a small preview per batch."""
import os

os.environ["KERAS_BACKEND"] = "torch"
import time

import keras
import numpy as np

OUT = "scratch/denoise"


class Preview(keras.callbacks.Callback):
    def __init__(self, x):
        super().__init__()
        self.x = x
        self.epoch = 0

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.2)
        os.makedirs(f"{OUT}/preview", exist_ok=True)
        np.save(f"{OUT}/preview/e{self.epoch:03d}_b{batch:04d}.npy", self.x[batch % len(self.x)])


def main():
    keras.utils.set_random_seed(7)
    rng = np.random.default_rng(7)
    clean = np.sin(np.linspace(0, 12, 64)[None] + rng.uniform(0, 6, (640, 1))).astype("float32")
    noisy = clean + 0.3 * rng.standard_normal(clean.shape).astype("float32")
    os.makedirs(OUT, exist_ok=True)
    model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(96, activation="relu"), keras.layers.Dense(64)])
    model.compile("adam", "mse")
    model.fit(noisy, clean, batch_size=32, epochs=30, verbose=1, callbacks=[
        Preview(noisy[:32]),
        keras.callbacks.CSVLogger(f"{OUT}/history.csv"),
        keras.callbacks.ModelCheckpoint(OUT + "/model_{epoch:02d}.keras", verbose=1),
    ])


if __name__ == "__main__":
    main()
