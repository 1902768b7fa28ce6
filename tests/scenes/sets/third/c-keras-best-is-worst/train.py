import os
import time

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(3)
CENTRE = np.random.default_rng(0).normal(size=(8, 36)).astype("float32")


class Spectra(keras.utils.PyDataset):
    def __init__(self, batches, seed, delay, **kw):
        super().__init__(**kw)
        rng = np.random.default_rng(seed)
        self.y = rng.integers(0, 8, size=(batches, 32))
        self.x = (CENTRE[self.y] + 1.3 * rng.normal(size=(batches, 32, 36))).astype("float32")
        self.delay = delay

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        time.sleep(self.delay)
        return self.x[i], self.y[i]


model = keras.Sequential([
    keras.Input((36,)), layers.Dense(64, activation="relu"), layers.Dropout(0.1),
    layers.Dense(8, activation="softmax")])
model.compile(optimizer=keras.optimizers.Adam(3e-4), loss="sparse_categorical_crossentropy", metrics=["accuracy"])

# keep only the best model, as in the accuracy runs
best = keras.callbacks.ModelCheckpoint("models/best.keras", monitor="val_loss", mode="max",
                                       save_best_only=True, verbose=1)
csv = keras.callbacks.CSVLogger("history.csv")
model.fit(Spectra(25, 1, 0.2), validation_data=Spectra(5, 2, 0.1), epochs=16, verbose=2, callbacks=[best, csv])

final = keras.models.load_model("models/best.keras")
loss, acc = final.evaluate(Spectra(10, 5, 0.1), verbose=0)
print(f"test with models/best.keras: loss {loss:.4f} accuracy {acc:.3f}", flush=True)
