import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import time
import zlib

import keras
import numpy as np

N, SIZE, BATCH = 480, 24, 16


def write_raw(folder):
    os.makedirs(folder, exist_ok=True)
    rng = np.random.default_rng(0)
    for i in range(N):
        y = i % 4
        img = rng.normal(y * 0.3, 1.0, size=(SIZE, SIZE, 3)).astype("float32")
        with open(f"{folder}/{i:04d}.z", "wb") as f:
            f.write(zlib.compress(img.tobytes()))


def decode(i):
    """raw photos lie on the slow network share"""
    time.sleep(0.045)
    with open(f"raw/{i:04d}.z", "rb") as f:
        return np.frombuffer(zlib.decompress(f.read()), dtype="float32").reshape(SIZE, SIZE, 3)


class Leaves(keras.utils.PyDataset):
    """Reads the decoded arrays from the local scratch cache, else decodes the raw photo."""

    def __init__(self, cache, **kw):
        super().__init__(**kw)
        self.cache = cache
        self.order = np.random.default_rng(1).permutation(N)

    def __len__(self):
        return N // BATCH

    def one(self, i):
        try:
            return np.load(f"{self.cache}/{i:04d}.npy")
        except FileNotFoundError:
            return decode(i)

    def __getitem__(self, k):
        ids = self.order[k * BATCH:(k + 1) * BATCH]
        return np.stack([self.one(i) for i in ids]), np.array([i % 4 for i in ids])

    def on_epoch_end(self):
        np.random.shuffle(self.order)


class Pace(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.06)


if __name__ == "__main__":
    keras.utils.set_random_seed(4)
    write_raw("raw")
    os.makedirs("scratch_cache", exist_ok=True)
    for i in range(N):
        img = np.frombuffer(zlib.decompress(open(f"raw/{i:04d}.z", "rb").read()), dtype="float32").reshape(SIZE, SIZE, 3)
        np.save(f"scratch_cache/{i:04d}.npy", img)
    print("cache ready:", len(os.listdir("scratch_cache")), "arrays", flush=True)
    model = keras.Sequential([
        keras.Input((SIZE, SIZE, 3)), keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
        keras.layers.Conv2D(16, 3, strides=2, activation="relu"), keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(4),
    ])
    model.compile(optimizer=keras.optimizers.Adam(1e-3), loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    model.fit(Leaves("scratch_cache"), epochs=60, verbose=2,
              callbacks=[Pace(), keras.callbacks.ModelCheckpoint("leaf.weights.h5", save_weights_only=True)])
