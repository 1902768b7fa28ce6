import os
os.environ["KERAS_BACKEND"] = "jax"
import time

import keras
import numpy as np
from keras import layers


class Paced(keras.utils.PyDataset):
    """Reads the tiles of one batch, as slowly as the decoder is."""

    def __init__(self, n, seed, pause, **kw):
        super().__init__(**kw)
        r = np.random.default_rng(seed)
        self.y = r.integers(0, 2, n)
        self.x = r.normal(0.4, 0.15, (n, 20, 20, 1)).astype("float32")
        self.x[self.y == 1, 6:12, 6:12] += 0.12
        self.pause = pause

    def __len__(self):
        return len(self.y) // 32

    def __getitem__(self, i):
        time.sleep(self.pause)
        s = slice(32 * i, 32 * i + 32)
        return self.x[s], self.y[s]


def build():
    inp = keras.Input((20, 20, 1))
    x = layers.Conv2D(8, 3, activation="relu")(inp)
    x = layers.MaxPooling2D()(x)
    x = layers.SeparableConv2D(16, 3, activation="relu")(x)
    x = layers.GlobalMaxPooling2D()(x)
    x = layers.Dropout(0.2)(x)
    return keras.Model(inp, layers.Dense(1, "sigmoid")(x), name="retina")


def main():
    keras.utils.set_random_seed(9)
    model = build()
    model.summary(line_length=80)
    model.compile(keras.optimizers.AdamW(2e-3), "binary_crossentropy", metrics=["accuracy", keras.metrics.AUC(name="auc")])
    model.fit(Paced(1280, 0, 0.14), validation_data=Paced(256, 1, 0.05), epochs=6, callbacks=[
        keras.callbacks.ModelCheckpoint("retina.best.keras", monitor="val_auc", mode="max", save_best_only=True, verbose=1),
        keras.callbacks.CSVLogger("history.csv")])
    print("test:", model.evaluate(Paced(256, 2, 0.05), return_dict=True, verbose=0))


if __name__ == "__main__":
    main()
