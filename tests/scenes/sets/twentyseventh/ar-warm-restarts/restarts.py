import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import time

import keras
import numpy as np
import torch

torch.set_num_threads(1)
keras.utils.set_random_seed(3)
PACE = float(os.environ.get("PACE", 0.065))
r = np.random.default_rng(3)
N = 14000
cat = np.stack([r.integers(0, 50, N), r.integers(0, 200, N)], 1)
num = r.normal(size=(N, 10)).astype("float32")
w, u = r.normal(size=50), r.normal(size=200)
price = (w[cat[:, 0]] + 0.8 * u[cat[:, 1]] + num[:, 0] * 1.2 - np.abs(num[:, 1]) + num[:, 2] * num[:, 3] + 0.3 * r.normal(size=N)).astype("float32")

a, b, c = keras.Input((), dtype="int32"), keras.Input((), dtype="int32"), keras.Input((10,))
h = keras.layers.Concatenate()([keras.layers.Embedding(50, 3)(a), keras.layers.Embedding(200, 3)(b), c])
h = keras.layers.Dense(32, activation="relu")(h)
h = keras.layers.Dense(32, activation="relu")(h)
model = keras.Model([a, b, c], keras.layers.Dense(1)(h))
model.compile(keras.optimizers.AdamW(0.03, weight_decay=4e-3), "mse", metrics=["mae"])
CYCLE = 34


class Restarts(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        k = epoch % CYCLE
        if k == 0 and epoch:
            print(f"warm restart {epoch // CYCLE}, snapshot kept", flush=True)
            self.model.save_weights(f"snapshot_{epoch // CYCLE}.weights.h5")
        self.model.optimizer.learning_rate = 1e-5 + 0.03 * 0.5 * (1 + np.cos(np.pi * k / CYCLE))

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(PACE)

    def on_epoch_end(self, epoch, logs=None):
        lr = float(self.model.optimizer.learning_rate)
        print(f"epoch {epoch + 1:3d} lr {lr:.2e} " + " ".join(f"{k} {v:.4f}" for k, v in logs.items()), flush=True)


s = slice(0, 11000), slice(11000, None)
part = [([cat[i, 0], cat[i, 1], num[i]], price[i]) for i in s]
model.fit(*part[0], batch_size=1100, validation_data=part[1], epochs=CYCLE * 5, verbose=0, callbacks=[Restarts()])
model.save("prices.keras")
print("5 snapshots, done", flush=True)
