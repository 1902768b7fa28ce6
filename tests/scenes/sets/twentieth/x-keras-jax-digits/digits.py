import time

import keras
import numpy as np
from sklearn.datasets import load_digits

keras.utils.set_random_seed(3)
d = load_digits()
x = (d.images[..., None] / 16.0).astype("float32")
y = d.target
print("keras", keras.__version__, "backend", keras.backend.backend(), "images", x.shape)

model = keras.Sequential(
    [
        keras.layers.Input((8, 8, 1)),
        keras.layers.Conv2D(8, 3, activation="relu"),
        keras.layers.Flatten(),
        keras.layers.Dropout(0.2),
        keras.layers.Dense(10, activation="softmax"),
    ]
)
model.summary()
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])


class Augment(keras.callbacks.Callback):
    """Stands for the work of the real augmentation."""

    def on_train_batch_begin(self, batch, logs=None):
        time.sleep(0.05)


model.fit(
    x[:1400], y[:1400],
    validation_data=(x[1400:], y[1400:]),
    batch_size=32,
    epochs=14,
    callbacks=[
        Augment(),
        keras.callbacks.ReduceLROnPlateau(patience=2, verbose=1),
        keras.callbacks.ModelCheckpoint("best.keras", save_best_only=True, verbose=1),
    ],
)
loss, acc = model.evaluate(x[1400:], y[1400:], verbose=2)
print(f"test accuracy {acc:.3f}")
