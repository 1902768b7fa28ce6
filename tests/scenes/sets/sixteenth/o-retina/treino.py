"""Triagem de retinopatia em recortes 32x32 (dados sintéticos para o teste de integração)."""
import os
import time

os.environ.setdefault("KERAS_BACKEND", "jax")
import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(14)
rng = np.random.default_rng(14)


def lote(n):
    y = rng.integers(0, 2, n)
    x = rng.normal(0.4, 0.15, (n, 32, 32, 3)).astype("float32")
    for k in np.flatnonzero(y):
        i, j = rng.integers(4, 26, 2)
        x[k, i:i + 3, j:j + 3, 0] += 0.7
    return x, y.astype("float32")


class Clinica(keras.callbacks.Callback):
    """Uma linha por época, para o diário do hospital."""

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.12)

    def on_epoch_end(self, epoch, logs=None):
        print(f"época {epoch + 1}: perda={logs['loss']:.4f} acerto={logs['acerto']:.3f} perda_validação={logs['val_loss']:.4f} acerto_validação={logs['val_acerto']:.3f}", flush=True)


entrada = keras.Input((32, 32, 3))
h = layers.Conv2D(8, 3, activation="relu")(entrada)
h = layers.MaxPooling2D(2)(h)
h = layers.Conv2D(16, 3, activation="relu")(h)
h = layers.GlobalMaxPooling2D()(h)
modelo = keras.Model(entrada, layers.Dense(1, activation="sigmoid")(h))
modelo.compile(keras.optimizers.Adam(4e-3), "binary_crossentropy", metrics=[keras.metrics.BinaryAccuracy(name="acerto")])
modelo.summary()
x, y = lote(640)
modelo.fit(
    x, y, batch_size=16, epochs=8, validation_data=lote(160), verbose=1,
    callbacks=[Clinica(), keras.callbacks.ReduceLROnPlateau(patience=2, factor=0.5, verbose=1), keras.callbacks.BackupAndRestore("copia"),
               keras.callbacks.ModelCheckpoint("retina.keras", save_best_only=True, monitor="val_acerto", mode="max", verbose=1)],
)
print("treino concluído", flush=True)
