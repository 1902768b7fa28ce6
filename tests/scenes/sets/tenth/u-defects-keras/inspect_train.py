"""Patch classifier for the camera on line 4: ok / scratch / dent / stain."""
import os
import time

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras
import numpy as np
import torch
from keras import layers
from sklearn.metrics import confusion_matrix

torch.set_num_threads(1)
keras.utils.set_random_seed(4)
CLASSES = ["ok", "scratch", "dent", "stain"]


def patches(n, seed):
    r = np.random.default_rng(seed)
    x = r.normal(0.5, 0.12, (n, 28, 28, 1)).astype("float32")
    y = r.integers(0, 4, n)
    yy, xx = np.mgrid[:28, :28]
    for i, c in enumerate(y):
        cx, cy = r.integers(7, 21, 2)
        if c == 1:
            x[i, cy, 4:24, 0] += 0.45
        elif c == 2:
            x[i, :, :, 0] -= 0.5 * np.exp(-((xx - cx) ** 2 + (yy - cy) ** 2) / 12)
        elif c == 3:
            x[i, cy - 3:cy + 4, cx - 3:cx + 4, 0] += 0.25
    return x, y


class Throttle(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.1)


xtr, ytr = patches(1000, 1)
xva, yva = patches(240, 2)
model = keras.Sequential([
    layers.Input((28, 28, 1)),
    layers.Conv2D(8, 3, activation="relu"), layers.MaxPooling2D(2),
    layers.Conv2D(16, 3, activation="relu"), layers.MaxPooling2D(2),
    layers.Flatten(), layers.Dropout(0.2), layers.Dense(4, activation="softmax"),
], name="line4")
model.compile(keras.optimizers.Adam(4e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
model.summary(line_length=76)
os.makedirs("weights", exist_ok=True)
model.fit(xtr, ytr, batch_size=50, epochs=15, verbose=2, validation_data=(xva, yva), callbacks=[
    Throttle(),
    keras.callbacks.ModelCheckpoint("weights/best.keras", monitor="val_accuracy", save_best_only=True, verbose=1),
    keras.callbacks.ReduceLROnPlateau(patience=3, factor=0.5, verbose=1),
    keras.callbacks.CSVLogger("history.csv"),
])
best = keras.models.load_model("weights/best.keras")
loss, acc = best.evaluate(xva, yva, verbose=0)
print(f"best model: loss {loss:.4f} accuracy {acc:.4f}")
print(CLASSES)
print(confusion_matrix(yva, best.predict(xva, verbose=0).argmax(1)))
best.save_weights("weights/line4.weights.h5")
print("exported weights/line4.weights.h5")
