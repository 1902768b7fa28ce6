"""Fraud detection: 2 percent positives. Keras on torch. Plateau schedule, early stopping, then a threshold search."""
import os

os.environ["KERAS_BACKEND"] = "torch"
import time

import keras
import numpy as np
import torch

torch.set_num_threads(1)


def payments(n, seed):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.02).astype("float32")
    x = rng.normal(0, 1, (n, 20)).astype("float32")
    x[y == 1, :4] += 1.0
    return x, y


class Feed(keras.callbacks.Callback):
    """The feature store answers slowly."""

    def on_train_batch_begin(self, batch, logs=None):
        time.sleep(0.06)

    def on_test_batch_begin(self, batch, logs=None):
        time.sleep(0.05)


def main():
    keras.utils.set_random_seed(5)
    x, y = payments(1600, 1)
    vx, vy = payments(1280, 2)
    model = keras.Sequential([keras.layers.Input((20,)), keras.layers.Dense(128, activation="relu"),
                              keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1, activation="sigmoid")])
    model.compile(optimizer=keras.optimizers.Adam(3e-3), loss="binary_crossentropy",
                  metrics=[keras.metrics.Precision(name="precision"), keras.metrics.Recall(name="recall"), keras.metrics.AUC(name="auc")])
    callbacks = [
        Feed(),
        keras.callbacks.TerminateOnNaN(),
        keras.callbacks.BackupAndRestore("backup"),
        keras.callbacks.ReduceLROnPlateau(monitor="val_loss", factor=0.1, patience=2, min_lr=1e-7, verbose=1),
        keras.callbacks.EarlyStopping(monitor="val_loss", patience=8, min_delta=1e-3, restore_best_weights=True, verbose=1),
        keras.callbacks.ModelCheckpoint("fraud_best.keras", monitor="val_loss", save_best_only=True, verbose=1),
    ]
    history = model.fit(x, y, batch_size=64, epochs=40, validation_data=(vx, vy), callbacks=callbacks, verbose=2)
    print(f"stopped after {len(history.history['loss'])} of 40 epochs", flush=True)
    print("searching the threshold (bootstrap) ...", flush=True)
    score = model.predict(vx, verbose=0)[:, 0]
    rng, best = np.random.default_rng(0), (0.0, 0.5)
    for t in np.linspace(0.02, 0.6, 30):
        i = rng.integers(0, len(vy), 4000)
        hit = (score[i] > t) & (vy[i] == 1)
        f1 = 2 * hit.sum() / max((score[i] > t).sum() + (vy[i] == 1).sum(), 1)
        best = max(best, (float(f1), float(t)))
        time.sleep(0.6)
    print(f"threshold {best[1]:.2f}, f1 {best[0]:.3f}", flush=True)
    model.save("fraud_final.keras")


if __name__ == "__main__":
    main()
