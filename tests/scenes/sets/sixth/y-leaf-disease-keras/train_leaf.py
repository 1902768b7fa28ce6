"""Leaf disease classifier. Keras 3. The best model goes to models/leaf_best.keras and from there to the app."""
import os

os.environ.setdefault("KERAS_BACKEND", "torch")

import time

import keras
import numpy as np
import torch

torch.set_num_threads(1)


def leaves(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 5, n)
    x = rng.normal(0, 1, (n, 16, 16, 3)).astype("float32")
    for k in range(5):
        x[y == k, k * 3:k * 3 + 3, :, k % 3] += 0.8
    return x, y


class Leaves(keras.utils.PyDataset):
    """Reads and augments a batch of photographs."""

    def __init__(self, n, seed, batch=32, cost=0.12):
        super().__init__()
        self.x, self.y = leaves(n, seed)
        self.batch, self.cost = batch, cost

    def __len__(self):
        return len(self.x) // self.batch

    def __getitem__(self, i):
        time.sleep(self.cost)
        s = slice(i * self.batch, (i + 1) * self.batch)
        return self.x[s], self.y[s]


def main():
    keras.utils.set_random_seed(21)
    os.makedirs("models", exist_ok=True)
    model = keras.Sequential([
        keras.layers.Input((16, 16, 3)),
        keras.layers.Conv2D(8, 3, activation="relu"),
        keras.layers.MaxPooling2D(),
        keras.layers.Flatten(),
        keras.layers.Dropout(0.3),
        keras.layers.Dense(5, activation="softmax"),
    ])
    model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    model.summary()
    model.fit(
        Leaves(960, 1), validation_data=Leaves(256, 2, cost=0.06), epochs=12, verbose=2,
        callbacks=[
            keras.callbacks.ModelCheckpoint("models/leaf_best.keras", monitor="val_acc", mode="max", save_best_only=True),
            keras.callbacks.CSVLogger("history.csv"),
        ],
    )
    print("Loading the best model for the test set ...", flush=True)
    best = keras.models.load_model("models/leaf_best.keras")
    x, y = leaves(512, 3)
    print("test:", best.evaluate(x, y, verbose=0, return_dict=True), flush=True)


if __name__ == "__main__":
    main()
