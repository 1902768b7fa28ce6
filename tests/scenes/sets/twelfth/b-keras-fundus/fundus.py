import time

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(2)


def make(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    x = rng.random((n, 24, 24, 3), dtype="float32")
    x[:, 6:12, 6:12, 0] += 0.5 * y[:, None, None]
    return x, y.astype("float32")


class Augment(keras.utils.PyDataset):
    def __init__(self, x, y, batch, **kw):
        super().__init__(**kw)
        self.x, self.y, self.batch = x, y, batch

    def __len__(self):
        return len(self.x) // self.batch

    def __getitem__(self, k):
        time.sleep(0.15)
        s = slice(k * self.batch, (k + 1) * self.batch)
        x = self.x[s]
        return (x[:, ::-1] if k % 2 else x), self.y[s]


inputs = keras.Input((24, 24, 3))
h = layers.RandomFlip("horizontal")(inputs)
for c in (8, 16):
    h = layers.Conv2D(c, 3, strides=2, padding="same")(h)
    h = layers.BatchNormalization()(h)
    h = layers.Activation("relu")(h)
h = layers.Dropout(0.2)(layers.Flatten()(h))
model = keras.Model(inputs, layers.Dense(1, activation="sigmoid")(h))
model.compile("adam", "binary_crossentropy", metrics=["accuracy", keras.metrics.AUC(name="auc")])
x, y = make(320, 0)
model.fit(
    Augment(x, y, 16, workers=1), validation_data=make(96, 1), epochs=12, verbose=2,
    callbacks=[
        keras.callbacks.ReduceLROnPlateau(patience=2, verbose=1),
        keras.callbacks.ModelCheckpoint("fundus_{epoch:02d}.keras", save_best_only=True, verbose=1),
    ],
)
print("evaluation:", dict(zip(model.metrics_names, model.evaluate(*make(96, 2), verbose=0))))
