import os

os.environ["KERAS_BACKEND"] = "torch"
import time

import keras
import numpy as np


class Pace(keras.callbacks.Callback):
    def on_train_batch_begin(self, batch, logs=None):
        time.sleep(0.2)


def table(n, seed):
    r = np.random.default_rng(seed)
    x = r.normal(size=(n, 25)).astype("float32")
    return x, (0.4 * x[:, :1] + r.normal(size=(n, 1))).astype("float32")


keras.utils.set_random_seed(4)
model = keras.Sequential([keras.Input((25,)), keras.layers.Dense(128, activation="relu"), keras.layers.Dense(1)])
model.compile(keras.optimizers.Adam(4e-3), "mse")
history = model.fit(
    *table(256, 0), batch_size=32, epochs=300, validation_data=table(512, 1), verbose=2,
    callbacks=[
        Pace(),
        keras.callbacks.ReduceLROnPlateau("val_loss", factor=0.3, patience=4, verbose=1),
        keras.callbacks.ModelCheckpoint("best.weights.h5", monitor="val_loss", save_best_only=True,
                                        save_weights_only=True, verbose=1),
        keras.callbacks.EarlyStopping("val_loss", patience=9, restore_best_weights=True, verbose=1),
    ],
)
print("epochs run:", len(history.history["loss"]), "best val_loss:", min(history.history["val_loss"]))
