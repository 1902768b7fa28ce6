import math
import time

import keras
import numpy as np
import torch

torch.set_num_threads(1)
keras.utils.set_random_seed(2)
EPOCHEN, ZYKLUS = 32, 8


def lernrate(epoche, _):
    return 1e-4 + 0.03 * (0.5 + 0.5 * math.cos(math.pi * (epoche % ZYKLUS) / ZYKLUS))


class Bericht(keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        print(f"Training beginnt: {EPOCHEN} Epochen, Zyklus {ZYKLUS}")

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.06)

    def on_epoch_begin(self, epoch, logs=None):
        if epoch and epoch % ZYKLUS == 0:
            print(f"--- Neustart der Lernrate (Zyklus {epoch // ZYKLUS + 1}) ---")

    def on_epoch_end(self, epoch, logs=None):
        print(f"Epoche {epoch + 1:2d}/{EPOCHEN}  Verlust {logs['loss']:.4f}  Val.-Verlust {logs['val_loss']:.4f}  "
              f"Fehler {logs['val_mae']:.3f}  LR {float(self.model.optimizer.learning_rate):.5f}")

    def on_train_end(self, logs=None):
        print("Training beendet.")


def daten(n, saat):
    r = np.random.default_rng(saat)
    x = r.uniform(-3, 3, (n, 3)).astype("float32")
    return x, (np.sin(2 * x[:, 0]) * x[:, 1] + 0.1 * r.normal(size=n)).astype("float32")


def main():
    modell = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(48, "relu"), keras.layers.Dense(48, "relu"), keras.layers.Dense(1)])
    modell.compile(keras.optimizers.Adam(0.03), "mse", metrics=["mae"])
    modell.fit(*daten(1280, 0), validation_data=daten(256, 1), epochs=EPOCHEN, batch_size=64, verbose=0,
               callbacks=[keras.callbacks.LearningRateScheduler(lernrate), Bericht(), keras.callbacks.CSVLogger("verlauf.csv")])
    modell.save("modell.keras")
    print("Modell gespeichert: modell.keras")


main()
