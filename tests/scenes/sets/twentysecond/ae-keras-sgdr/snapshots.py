"""Snapshot ensemble: cosine cycles with warm restarts, one model kept per cycle."""
import math
import os
import time

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

CYCLE, CYCLES, LR = 7, 3, 0.1
keras.utils.set_random_seed(5)
rng = np.random.default_rng(5)
x = rng.normal(size=(384, 6)).astype("float32")
y = (x[:, :5] ** 2).sum(1, keepdims=True).astype("float32") / 5 + np.sin(x[:, 5:6] * 2)
model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(48, "relu"), keras.layers.Dense(48, "relu"),
                          keras.layers.Dense(1)])
model.compile(keras.optimizers.SGD(LR, momentum=0.9), "mse")


class Cycle(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        self.model.optimizer.learning_rate = LR * 0.5 * (1 + math.cos(math.pi * (epoch % CYCLE) / CYCLE)) + 1e-4

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.3)

    def on_epoch_end(self, epoch, logs=None):
        if epoch % CYCLE == CYCLE - 1:
            k = epoch // CYCLE + 1
            self.model.save(f"snapshot_{k}.keras")
            print(f"cycle {k}/{CYCLES} done, snapshot_{k}.keras kept; learning rate back to {LR}", flush=True)


model.fit(x, y, batch_size=32, epochs=CYCLE * CYCLES, verbose=2, callbacks=[Cycle(), keras.callbacks.CSVLogger("history.csv")])
