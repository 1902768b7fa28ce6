"""Sort leaf photographs into nine species (Keras)."""
import os
import time

os.environ["KERAS_BACKEND"] = "torch"
os.environ.setdefault("OMP_NUM_THREADS", "1")
import keras
import numpy as np


def photos(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 9, n)
    x = rng.normal(0, 1.0, (n, 16, 16, 3)).astype("float32")
    for i, k in enumerate(y):
        x[i, (k // 3) * 5:(k // 3) * 5 + 5, (k % 3) * 5:(k % 3) * 5 + 5, k % 3] += 0.9
    return x, y


class Throttle(keras.callbacks.Callback):
    """The workstation is shared: leave some air for the others."""

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.12)


keras.utils.set_random_seed(8)
xt, yt = photos(1920, 1)
xv, yv = photos(320, 2)
model = keras.Sequential([
    keras.layers.Input((16, 16, 3)),
    keras.layers.Conv2D(12, 3, activation="relu"),
    keras.layers.MaxPooling2D(),
    keras.layers.Flatten(),
    keras.layers.Dropout(0.3),
    keras.layers.Dense(9, activation="softmax"),
])
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.summary()
os.makedirs("models", exist_ok=True)
model.fit(xt, yt, validation_data=(xv, yv), epochs=60, batch_size=32, verbose=2,
          callbacks=[Throttle(), keras.callbacks.ModelCheckpoint("models/best.keras", save_best_only=True)])
model.save("models/last.keras")
print("done, best model in models/best.keras")
