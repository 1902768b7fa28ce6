import os
os.environ["KERAS_BACKEND"] = "jax"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import configparser
import sys
import time

import numpy as np
import keras
from keras import layers

cfg = configparser.ConfigParser()
cfg.read("konfig.ini")
t = cfg["training"]


def messdaten(n, saat):
    r = np.random.default_rng(saat)
    x = r.normal(size=(n, 12)).astype("f4")
    w = np.random.default_rng(1).normal(size=(12, 6))
    y = np.argmax(np.tanh(x) @ w + r.gumbel(size=(n, 6)) * .3, 1)
    return x, y


class Bericht(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        self.t0 = time.time()

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.04)

    def on_epoch_end(self, epoch, logs=None):
        lr = float(self.model.optimizer.learning_rate)
        print(f"{time.strftime('%d.%m.%Y %H:%M:%S')}  INFO  Epoche {epoch + 1}/{self.params['epochs']}  "
              f"Verlust {logs['loss']:.4f}  Genauigkeit {logs['accuracy']:.3f}  "
              f"Val-Verlust {logs['val_loss']:.4f}  Val-Genauigkeit {logs['val_accuracy']:.3f}  "
              f"Lernrate {lr:.2e}  Dauer {time.time() - self.t0:.1f} s", flush=True)


def lernrate(epoch, lr):
    if epoch < t.getint("konstant_bis"):
        return lr
    return lr / t.getfloat("abkling")


def main():
    keras.utils.set_random_seed(3)
    x, y = messdaten(6144, 10)
    xv, yv = messdaten(512, 11)
    modell = keras.Sequential([keras.Input((12,)), layers.Dense(64, "relu"), layers.Dense(64, "relu"), layers.Dense(6)])
    modell.compile(keras.optimizers.Adam(t.getfloat("lernrate")), keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    print(f"Prüfstand-Klassifikator, {modell.count_params()} Parameter, {len(x)} Messungen", flush=True)
    modell.fit(x, y, batch_size=192, epochs=t.getint("epochen"), validation_data=(xv, yv), verbose=0,
               callbacks=[keras.callbacks.LearningRateScheduler(lernrate), Bericht()])
    modell.save("modell.keras")
    print("Modell gespeichert: modell.keras", flush=True)


if __name__ == "__main__":
    sys.exit(main())
