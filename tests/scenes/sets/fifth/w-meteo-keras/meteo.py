import os, time
os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np
import torch

keras.utils.set_random_seed(31)
torch.set_num_threads(1)
g = np.random.default_rng(31)


def stations(n):
    x = g.normal(size=(n, 20)).astype("float32")
    return x, (0.4 * x[:, :1] + g.normal(size=(n, 1))).astype("float32")


class Pace(keras.callbacks.Callback):
    """the reader of the real archive takes this long"""
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.15)

    def on_test_batch_end(self, batch, logs=None):
        time.sleep(0.4)


x, y = stations(256)
xv, yv = stations(320)
model = keras.Sequential([keras.Input((20,)), keras.layers.Dense(256, activation="relu"),
                          keras.layers.Dense(256, activation="relu"), keras.layers.Dense(1)])
model.compile(optimizer=keras.optimizers.Adam(4e-3), loss="mse", metrics=["mae"])
print("WARNING: 3 of 323 stations have no coordinates and are dropped", flush=True)
hist = model.fit(
    x, y, batch_size=16, epochs=100, validation_data=(xv, yv), validation_batch_size=32, verbose=2,
    callbacks=[
        Pace(),
        keras.callbacks.EarlyStopping(monitor="val_loss", patience=5, restore_best_weights=True, verbose=1),
        keras.callbacks.ReduceLROnPlateau(monitor="val_loss", factor=0.5, patience=2, verbose=1),
        keras.callbacks.ModelCheckpoint("meteo_best.keras", monitor="val_loss", save_best_only=True, verbose=1),
    ])
print("epochs run:", len(hist.history["loss"]), "of 100; best val_loss:", round(min(hist.history["val_loss"]), 4))
model.save("meteo_final.keras")
