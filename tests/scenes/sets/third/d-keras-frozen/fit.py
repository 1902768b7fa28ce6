import os
import time
import warnings

os.environ["KERAS_BACKEND"] = "torch"
warnings.filterwarnings("ignore")

import keras
import numpy as np
import torch

torch.set_num_threads(1)
keras.utils.set_random_seed(77)


def make_data(n, seed):
    rng = np.random.default_rng(seed)
    centers = np.random.default_rng(1).normal(size=(10, 40)) * 0.45
    y = rng.integers(0, 10, n)
    return (centers[y] + rng.normal(size=(n, 40))).astype("float32"), y


class FreezeBackbone(keras.callbacks.Callback):
    """Second stage: only the head goes on learning."""

    def __init__(self, epoch):
        super().__init__()
        self.at = epoch

    def on_epoch_begin(self, epoch, logs=None):
        if epoch == self.at:
            for layer in self.model.layers:
                layer.trainable = layer.name.startswith("head")
            print(f"Stage 2 from epoch {epoch + 1}: backbone frozen, training the head")


class SlowInput(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.18)


def main():
    os.makedirs("models", exist_ok=True)
    x, y = make_data(1536, 10)
    xv, yv = make_data(512, 11)
    model = keras.Sequential([
        keras.Input((40,)),
        keras.layers.Dense(96, activation="relu", name="backbone_1"),
        keras.layers.Dense(96, activation="relu", name="backbone_2"),
        keras.layers.Dense(10, activation="softmax", name="classifier"),
    ])
    model.compile(optimizer=keras.optimizers.Adam(1.5e-4), loss="sparse_categorical_crossentropy",
                  metrics=["accuracy"], jit_compile=False)
    model.fit(x, y, validation_data=(xv, yv), batch_size=128, epochs=80, shuffle=False, verbose=2,
              callbacks=[FreezeBackbone(12), SlowInput(),
                         keras.callbacks.ModelCheckpoint("models/best.keras", save_best_only=True, monitor="val_loss")])
    model.save("models/final.keras")


if __name__ == "__main__":
    main()
