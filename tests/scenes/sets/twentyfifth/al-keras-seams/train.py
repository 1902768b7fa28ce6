"""Nahtfehler erkennen (ok, Pore, Riss)."""
import os
import time

os.environ["KERAS_BACKEND"] = "torch"
import keras
import torch

from reader import Seams

torch.set_num_threads(1)


class Tempo(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch + 1

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.25)
        if (batch + 1) % 10 == 0:
            print(f"Epoche {self.epoch} Stapel {batch + 1:3d}  Verlust {logs['loss']:.4f}  Treffer {logs['accuracy']:.3f}", flush=True)


def main():
    os.makedirs("stand", exist_ok=True)
    keras.utils.set_random_seed(2)
    data = Seams("naehte.rec", workers=2, use_multiprocessing=False, max_queue_size=8)
    net = keras.Sequential([
        keras.layers.Input((20, 20, 1)),
        keras.layers.Conv2D(8, 3, activation="relu"), keras.layers.MaxPooling2D(),
        keras.layers.Conv2D(16, 3, activation="relu"), keras.layers.Flatten(),
        keras.layers.Dense(3, activation="softmax")])
    net.compile(keras.optimizers.Adam(2e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
    print(f"{data.n} Naehte, {len(data)} Stapel je Epoche, keras {keras.__version__}", flush=True)
    net.fit(data, epochs=3, shuffle=False, verbose=0,
            callbacks=[Tempo(), keras.callbacks.ModelCheckpoint("stand/netz_{epoch:02d}_{batch:04d}.keras", save_freq=60)])
    net.save("stand/fertig.keras")
    print("fertig", flush=True)


if __name__ == "__main__":
    main()
