"""Leaf classifier, Keras 3 with a torch loader."""
import argparse, os, time
import numpy as np
import torch
import keras
from torch.utils.data import DataLoader, Dataset

ap = argparse.ArgumentParser()
ap.add_argument("--epochs", type=int, default=12)
a = ap.parse_args()
keras.utils.set_random_seed(9)
torch.set_num_threads(1)


class Leaves(Dataset):
    def __init__(self, n=1200):
        self.n = n
        self.protos = np.random.default_rng(0).normal(size=(12, 24, 24, 1)).astype("float32")

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        r = np.random.default_rng(i)
        img = self.protos[i % 12] + r.normal(0, 2.5, (24, 24, 1)).astype("float32")
        if r.random() < 0.5:                       # augment
            img = np.roll(img, r.integers(-2, 3), axis=1)
        time.sleep(0.004)
        return img.astype("float32"), i % 12


def init(wid):
    os.makedirs("run", exist_ok=True)
    with open(f"run/loader-{wid}.pid", "w") as f:
        f.write(str(os.getpid()))


class Pace(keras.callbacks.Callback):
    def on_train_batch_end(self, b, logs=None):
        time.sleep(0.12)


dl = DataLoader(Leaves(), batch_size=24, shuffle=True, num_workers=3, worker_init_fn=init, persistent_workers=True,
                generator=torch.Generator().manual_seed(2))
m = keras.Sequential([keras.layers.Input((24, 24, 1)), keras.layers.Conv2D(8, 5, strides=2, activation="relu"),
                      keras.layers.Conv2D(16, 3, strides=2, activation="relu"), keras.layers.Flatten(),
                      keras.layers.Dense(12, activation="softmax")])
m.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
os.makedirs("weights", exist_ok=True)
m.fit(dl, epochs=a.epochs, verbose=2,
      callbacks=[Pace(), keras.callbacks.ModelCheckpoint("weights/leaf_{epoch:02d}.weights.h5", save_weights_only=True),
                 keras.callbacks.CSVLogger("history.csv")])
m.save("weights/leaf_final.keras")
print("done")
