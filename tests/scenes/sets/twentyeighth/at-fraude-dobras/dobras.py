"""Cinco dobras de um classificador de fraude (Keras, backend torch)."""
import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import time

import keras
import numpy as np

PAUSA = float(os.environ.get("PAUSA", "1.2"))
keras.utils.set_random_seed(2)
rng = np.random.default_rng(2)
N = 2000
x = rng.normal(0, 1, (N, 12)).astype("float32")
z = 1.4 * x[:, 0] * x[:, 1] + x[:, 2] - 0.8 * np.abs(x[:, 3]) + 0.6 * x[:, 4] - 1.6
y = (rng.random(N) < 1 / (1 + np.exp(-z))).astype("float32")
print(f"{N} linhas, {y.mean():.3f} de fraude, backend {keras.backend.backend()}", flush=True)


class Pausa(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        time.sleep(PAUSA)


def modelo():
    m = keras.Sequential([
        keras.Input((12,)),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(32, activation="relu"),
        keras.layers.Dense(1, activation="sigmoid"),
    ])
    m.compile(keras.optimizers.Adam(2e-3), "binary_crossentropy", metrics=[keras.metrics.AUC(name="auc")])
    return m


dobras = np.array_split(rng.permutation(N), 5)
notas = []
for k, fora in enumerate(dobras, 1):
    print(f"===== dobra {k}/5 =====", flush=True)
    dentro = np.setdiff1d(np.arange(N), fora)
    m = modelo()
    h = m.fit(x[dentro], y[dentro], validation_data=(x[fora], y[fora]), epochs=60, batch_size=64, verbose=2, callbacks=[
        Pausa(),
        keras.callbacks.EarlyStopping("val_loss", patience=12, restore_best_weights=True, verbose=1),
    ])
    m.save(f"dobra_{k}.keras")
    notas.append(max(h.history["val_auc"]))
    print(f"dobra {k}: melhor val_auc {notas[-1]:.4f} em {len(h.history['loss'])} epocas", flush=True)
print(f"media val_auc {np.mean(notas):.4f} +- {np.std(notas):.4f}", flush=True)
