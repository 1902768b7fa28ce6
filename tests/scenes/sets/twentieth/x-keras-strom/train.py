import logging
import os
import time

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras
import numpy as np

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s: %(message)s", datefmt="%d.%m.%Y %H:%M:%S")
log = logging.getLogger("lastprognose")


def daten(n=640, seed=5):
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, 8760, n)
    x = np.stack([np.sin(t / 24), np.cos(t / 24), np.sin(t / 168), rng.normal(size=n)], 1)
    return x.astype("float32"), (x[:, 0] * 2 + x[:, 2] + 0.1 * rng.normal(size=n)).astype("float32")


class Protokoll(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.06)

    def on_epoch_end(self, epoch, logs=None):
        log.info("Epoche %d: Verlust %.4f, Validierung %.4f", epoch + 1, logs["loss"], logs["val_loss"])


def main():
    x, y = daten()
    modell = keras.Sequential([
        keras.layers.Input((4,)),
        keras.layers.Dense(300, activation="relu"),
        keras.layers.Dense(600, activation="relu"),
        keras.layers.Dense(1),
    ])
    modell.compile(keras.optimizers.Adam(1e-3), "mse")
    log.info("Backend %s, %d Parameter", keras.backend.backend(), modell.count_params())
    os.makedirs("staende/modelle", exist_ok=True)
    sichern = keras.callbacks.ModelCheckpoint("staende/modelle/epoche_{epoch:03d}.keras")
    modell.fit(x, y, validation_split=0.2, batch_size=16, epochs=40, verbose=2, callbacks=[Protokoll(), sichern])
    log.info("Training beendet")


if __name__ == "__main__":
    main()
