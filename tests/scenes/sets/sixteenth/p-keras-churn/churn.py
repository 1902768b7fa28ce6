import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import time

import keras
import numpy as np
import torch

torch.set_num_threads(1)
keras.utils.set_random_seed(0)
g = np.random.default_rng(0)
X = g.normal(size=(1800, 16)).astype("f4")
p = 1 / (1 + np.exp(-(1.4 * X[:, 0] - X[:, 3] + X[:, 5] * X[:, 6])))
y = (g.random(1800) < p).astype("f4")[:, None]


class Slow(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.12)


model = keras.Sequential([keras.layers.Input((16,)), keras.layers.Dense(64, "relu"), keras.layers.Dropout(0.2), keras.layers.Dense(64, "relu"), keras.layers.Dense(1, "sigmoid")])
model.compile("adam", "binary_crossentropy", metrics=["accuracy", keras.metrics.AUC(name="auc")])
h = model.fit(
    X[:1400], y[:1400], validation_data=(X[1400:], y[1400:]), epochs=40, batch_size=64,
    callbacks=[Slow(), keras.callbacks.EarlyStopping("val_loss", patience=6, restore_best_weights=True, verbose=1),
               keras.callbacks.ReduceLROnPlateau("val_loss", factor=0.5, patience=3, verbose=1),
               keras.callbacks.ModelCheckpoint("churn.keras", save_best_only=True, verbose=0),
               keras.callbacks.CSVLogger("history.csv")],
)
print("test:", dict(zip(model.metrics_names, model.evaluate(X[1400:], y[1400:], verbose=0))))
model.save("churn_final.keras")
