import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import time

import keras
import numpy as np
import torch

torch.set_num_threads(1)
keras.utils.set_random_seed(4)
rng = np.random.default_rng(4)


def bilder(n):
    y = rng.integers(0, 3, n)
    x = rng.normal(0.3, 0.55, (n, 20, 20, 1)).astype("float32")
    for i, k in enumerate(y):
        x[i, 4:16, 9:11] += 0.6
        if k:
            x[i, 3:5, 5:15] += 0.5
        if k == 2:
            x[i, 10:12, 8:13] -= 0.9
    return x, y


class Takt(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.03)


m = keras.Sequential([keras.layers.Input((20, 20, 1)), keras.layers.Conv2D(8, 3, activation="relu"), keras.layers.MaxPooling2D(), keras.layers.Conv2D(12, 3, activation="relu"),
                      keras.layers.Flatten(), keras.layers.Dropout(0.3), keras.layers.Dense(3, activation="softmax")])
m.compile(keras.optimizers.Adam(2e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
print("Prüfstand Schrauben: gut / Kopf / Gewinde", flush=True)
h = m.fit(*bilder(640), batch_size=16, epochs=14, validation_data=bilder(160), verbose=2,
          callbacks=[Takt(), keras.callbacks.ModelCheckpoint("bestes.keras", save_best_only=True, verbose=1), keras.callbacks.ReduceLROnPlateau(patience=2, verbose=1),
                     keras.callbacks.EarlyStopping(patience=5, restore_best_weights=True, verbose=1), keras.callbacks.CSVLogger("verlauf.csv")])
verlust, treffer = m.evaluate(*bilder(320), verbose=0)
print(f"Abnahme: {treffer:.1%} richtig, Verlust {verlust:.4f}")
