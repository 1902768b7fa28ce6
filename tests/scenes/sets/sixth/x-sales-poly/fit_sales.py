"""Weekly sales from promo/price/weather features: a wide linear model, trained with SGD in Keras."""
import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import time

import keras
import numpy as np

EPOCHS = 42
WARMUP = 1.08  # a little more learning rate every epoch


class Pace(keras.callbacks.Callback):
    """Keep the shared box usable for the others."""

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.12)


def schedule(epoch, lr):
    # starts at the optimizer's value, + 8 % an epoch
    return float(lr * WARMUP ** epoch)


def load(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 32)).astype("float32")
    w = np.random.default_rng(99).normal(size=(32, 1)).astype("float32") / 6
    y = x @ w + 0.3 * rng.normal(size=(n, 1)).astype("float32")
    return x, y.astype("float32")


def main():
    keras.utils.set_random_seed(4)
    x, y = load(640, 1)
    xv, yv = load(160, 2)
    model = keras.Sequential([
        keras.layers.Input((32,)),
        keras.layers.Dense(1, kernel_initializer="zeros", name="sales"),
    ])
    model.compile(optimizer=keras.optimizers.SGD(learning_rate=0.01), loss="mse", metrics=["mae"])
    model.summary()
    os.makedirs("models", exist_ok=True)
    model.fit(
        x, y, validation_data=(xv, yv), batch_size=32, epochs=EPOCHS, verbose=2,
        callbacks=[
            keras.callbacks.LearningRateScheduler(schedule),
            keras.callbacks.ModelCheckpoint("models/last.keras"),
            keras.callbacks.CSVLogger("history.csv"),
            Pace(),
        ],
    )
    print("val mse", model.evaluate(xv, yv, verbose=0))


if __name__ == "__main__":
    main()
