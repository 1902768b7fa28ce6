"""Radiografías: clasificador pequeño y, al final, intervalos de confianza por bootstrap."""
import os

os.environ.setdefault("KERAS_BACKEND", "jax")
import time

import keras
import numpy as np

keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)


def scans(n):
    y = rng.integers(0, 2, n)
    x = rng.normal(0, 0.4, (n, 16, 16, 1))
    x[y == 1, 5:9, 6:10] += 0.35
    return x.astype("float32"), y.astype("float32")


class Pace(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.25)


xa, ya = scans(640)
xb, yb = scans(400)
net = keras.Sequential([keras.layers.Input((16, 16, 1)), keras.layers.Conv2D(6, 3, strides=2, activation="relu"), keras.layers.Flatten(),
                        keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1, activation="sigmoid")])
net.compile("adam", "binary_crossentropy", metrics=["accuracy"])
os.makedirs("salida", exist_ok=True)
net.fit(xa, ya, validation_data=(xb, yb), epochs=10, batch_size=32, verbose=2,
        callbacks=[Pace(), keras.callbacks.ModelCheckpoint("salida/rx_{epoch:02d}.keras")])
print("Evaluación final: bootstrap de 60 remuestreos, tarda cerca de un minuto sin escribir nada", flush=True)
p = net.predict(xb, verbose=0)[:, 0]
acc = []
for _ in range(60):
    i = rng.integers(0, len(yb), len(yb))
    # permutation test over each resample
    for _ in range(400):
        s = rng.permutation(yb[i])
        (s == (p[i] > 0.5)).mean()
    acc.append(((p[i] > 0.5) == yb[i]).mean())
    time.sleep(0.75)
print(f"exactitud {np.mean(acc):.4f}  IC95 [{np.quantile(acc, .025):.4f}, {np.quantile(acc, .975):.4f}]", flush=True)
net.save("salida/rx_final.keras")
print("fin", flush=True)
