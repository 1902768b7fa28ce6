"""Validación cruzada de cinco pliegues: clasifica señales de vibración de rodamientos."""
import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import time

import keras
import numpy as np
import torch

torch.set_num_threads(1)
PAUSA = float(os.environ.get("PAUSE", "0.15"))
keras.utils.set_random_seed(21)
rng = np.random.default_rng(21)
t = np.arange(128) / 128
y = rng.integers(0, 4, 960)
x = np.stack([np.sin(2 * np.pi * ((5 + 3 * c) * t + rng.random())) * (1 + 0.6 * (c == 3) * np.sin(2 * np.pi * 2 * t)) for c in y])
x = (x * 0.8 + rng.normal(0, 1.3, x.shape))[..., None].astype("float32")
y = np.where(rng.random(960) < 0.04, rng.integers(0, 4, 960), y)


class Diario(keras.callbacks.Callback):
    def __init__(self, pliegue):
        super().__init__()
        self.pliegue = pliegue

    def on_train_batch_end(self, lote, logs=None):
        time.sleep(PAUSA)

    def on_epoch_end(self, epoca, logs=None):
        print(f"{time.strftime('%d/%m/%Y %H:%M:%S')}  pliegue {self.pliegue}/5  época {epoca + 1:2d}/20  pérdida={logs['loss']:.4f}  exactitud={logs['accuracy']:.4f}"
              f"  pérdida_val={logs['val_loss']:.4f}  exactitud_val={logs['val_accuracy']:.4f}", flush=True)


def modelo():
    m = keras.Sequential([
        keras.Input((128, 1)),
        keras.layers.Conv1D(16, 7, strides=2, activation="relu"),
        keras.layers.Conv1D(24, 5, strides=2, activation="relu"),
        keras.layers.GlobalMaxPooling1D(),
        keras.layers.Dropout(0.2),
        keras.layers.Dense(4, activation="softmax"),
    ])
    m.compile(keras.optimizers.Adam(4e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m


pliegues, notas = np.array_split(rng.permutation(960), 5), []
for k in range(5):
    val = pliegues[k]
    ent = np.concatenate([p for j, p in enumerate(pliegues) if j != k])
    print(f"--- pliegue {k + 1}: {len(ent)} para entrenar, {len(val)} para validar ---", flush=True)
    m = modelo()
    m.fit(x[ent], y[ent], validation_data=(x[val], y[val]), epochs=20, batch_size=96, verbose=0, callbacks=[Diario(k + 1)])
    notas.append(m.evaluate(x[val], y[val], verbose=0)[1])
    m.save(f"pliegue_{k + 1}.keras")
    print(f"--- pliegue {k + 1}: exactitud {notas[-1]:.4f} ---", flush=True)
print(f"exactitud media {np.mean(notas):.4f} ± {np.std(notas):.4f}", flush=True)
