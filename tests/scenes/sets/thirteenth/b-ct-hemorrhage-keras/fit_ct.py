"""Intracranial haemorrhage, slice level classifier (keras 3)."""
import time

import keras
import numpy as np
from keras import layers


class Slices(keras.utils.PyDataset):
    """Slices in the order of the scanner; each is standardised by its own mean and deviation."""

    def __init__(self, first, n, batch=8, pause=0.0, **kw):
        super().__init__(**kw)
        self.first, self.n, self.batch, self.pause = first, n, batch, pause

    def __len__(self):
        return self.n // self.batch

    def raw(self, i):
        rng = np.random.default_rng(i)
        hu = rng.normal(40, 12, (32, 32)).astype("float32")
        label = i % 3 == 0
        if label:
            hu[8:16, 10:20] += 35
        # padding slices above the skull hold air only
        if i % 997 == 996:
            hu[:] = -1000
        return hu, label

    def __getitem__(self, k):
        x, y = [], []
        for i in range(self.first + k * self.batch, self.first + (k + 1) * self.batch):
            hu, label = self.raw(i)
            x.append((hu - hu.mean()) / hu.std())
            y.append(int(label))
        time.sleep(self.pause)
        return np.stack(x)[..., None], np.array(y)


keras.utils.set_random_seed(5)
model = keras.Sequential([
    layers.Input((32, 32, 1)),
    layers.Conv2D(8, 3, strides=2, activation="relu"),
    layers.Conv2D(16, 3, strides=2, activation="relu"),
    layers.GlobalAveragePooling2D(),
    layers.Dense(2),
])
model.compile(optimizer=keras.optimizers.Adam(2e-3), loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
model.summary(line_length=80)
for round_ in range(4):
    print(f"--- shard {round_} ---", flush=True)
    model.fit(
        Slices(round_ * 640, 640, pause=0.3), validation_data=Slices(50000, 64), epochs=1, verbose=1, shuffle=False,
        callbacks=[keras.callbacks.CSVLogger("history.csv", append=True), keras.callbacks.ModelCheckpoint("ct.keras")],
    )
print("finished")
