import os
os.environ["KERAS_BACKEND"] = "jax"
import pathlib
import time

import keras
import numpy as np
from keras import layers
from rich.console import Console
from rich.table import Table

pathlib.Path("run.pid").write_text(str(os.getpid()))
con = Console(width=90, force_terminal=False)


def windows(n, seed):
    r = np.random.default_rng(seed)
    t = np.linspace(0, 1, 64)
    y = r.integers(0, 3, n)
    f = np.array([4.0, 10.0, 21.0])[y]
    x = np.sin(2 * np.pi * f[:, None] * t + r.uniform(0, 6, (n, 1))) + r.normal(0, 1.4, (n, 64))
    return x[..., None].astype("float32"), y


class Rows(keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        self.seen = 0

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.15)
        self.seen += 1
        if self.seen % 10 == 0:
            con.print(f"batch {self.seen}  loss {logs['loss']:.4f}  acc {logs['accuracy']:.3f}")

    def on_epoch_end(self, epoch, logs=None):
        t = Table(title=f"Epoch {epoch + 1}")
        for c in ("loss", "acc", "val loss", "val acc"):
            t.add_column(c)
        t.add_row(*(f"{logs[k]:.4f}" for k in ("loss", "accuracy", "val_loss", "val_accuracy")))
        con.print(t)


def main():
    keras.utils.set_random_seed(1)
    x, y = windows(1600, 1)
    val = windows(256, 2)
    m = keras.Sequential([keras.Input((64, 1)), layers.Conv1D(16, 9, activation="relu"), layers.MaxPooling1D(4),
                          layers.Conv1D(16, 5, activation="relu"), layers.GlobalAveragePooling1D(), layers.Dense(3, "softmax")])
    m.compile(keras.optimizers.Adam(2e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
    con.rule("EEG sleep stages")
    m.fit(x, y, batch_size=32, epochs=20, validation_data=val, verbose=0, callbacks=[
        Rows(), keras.callbacks.ModelCheckpoint("eeg.best.keras", save_best_only=True)])
    con.rule("done")


main()
