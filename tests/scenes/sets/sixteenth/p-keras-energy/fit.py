import os

os.environ["KERAS_BACKEND"] = "jax"
os.environ["JAX_PLATFORMS"] = "cpu"
import time

import keras
import numpy as np

keras.utils.set_random_seed(7)
g = np.random.default_rng(7)
hours = np.arange(2200)
load = 40 + 12 * np.sin(hours / 24 * 2 * np.pi) + 5 * np.sin(hours / 168 * 2 * np.pi) + g.normal(0, 1.5, len(hours))
z = ((load - load.mean()) / load.std()).astype("f4")
X = np.stack([z[i:i + 24] for i in range(len(z) - 25)])
y = z[24:-1, None]
n = 1600

model = keras.Sequential([
    keras.layers.Input((24,)),
    keras.layers.Dense(48, activation="relu"),
    keras.layers.Dense(48, activation="relu"),
    keras.layers.Dense(1),
])
model.compile(keras.optimizers.SGD(1e-3, momentum=0.9, clipnorm=1.0), loss="mse", metrics=["mae"])
model.summary()

WARM_EPOCHS = 10


def schedule(epoch, lr):
    # warm up to 10x in the first epochs
    return min(lr * 10 ** (1 / WARM_EPOCHS), 2.0)


class Pace(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.08)


model.fit(
    X[:n], y[:n], validation_data=(X[n:], y[n:]), epochs=60, batch_size=100, verbose=2,
    callbacks=[keras.callbacks.LearningRateScheduler(schedule, verbose=0), Pace(),
               keras.callbacks.ModelCheckpoint("energy.keras"), keras.callbacks.CSVLogger("energy.csv")],
)
