import os

os.environ["KERAS_BACKEND"] = "torch"
import time

import keras
import numpy as np
import torch

torch.set_num_threads(1)
keras.utils.set_random_seed(7)
PACE = float(os.environ.get("PACE", "0.16"))

n = 9000
r = np.random.default_rng(7)
x = r.normal(size=(n, 18)).astype("float32")
logit = x[:, 0] * 1.2 - x[:, 3] + 0.7 * x[:, 5] * x[:, 6] + 0.5 * np.abs(x[:, 9]) - 2.6
y = (r.random(n) < 1 / (1 + np.exp(-logit))).astype("float32")
x[r.random(x.shape) < 0.05] = np.nan                      # missing values as in the export
x = np.where(np.isnan(x), 0.0, x).astype("float32")
print(f"rows {n}, churners {y.mean():.3f}", flush=True)

inp = keras.Input((18,))
h = keras.layers.Dense(64, activation="relu")(inp)
h = keras.layers.Dropout(0.3)(h)
h = keras.layers.Dense(32, activation="relu")(h)
model = keras.Model(inp, keras.layers.Dense(1, activation="sigmoid")(h))
model.compile(keras.optimizers.Adam(2e-3), "binary_crossentropy", metrics=[keras.metrics.AUC(name="auc"), "accuracy"])


class Pause(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(PACE)


w = {0: 1.0, 1: float((y == 0).sum() / (y == 1).sum())}
model.fit(x[:7000], y[:7000], validation_data=(x[7000:8000], y[7000:8000]), batch_size=700, epochs=90, verbose=2, class_weight=w, callbacks=[
    Pause(),
    keras.callbacks.ReduceLROnPlateau("val_auc", mode="max", factor=0.5, patience=6, verbose=1),
    keras.callbacks.ModelCheckpoint("best.keras", monitor="val_auc", mode="max", save_best_only=True),
    keras.callbacks.CSVLogger("history.csv"),
])
best = keras.models.load_model("best.keras")
print("test", best.evaluate(x[8000:], y[8000:], verbose=0, return_dict=True), flush=True)
