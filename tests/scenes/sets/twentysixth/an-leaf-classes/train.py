import os

os.environ.setdefault("KERAS_BACKEND", "jax")
import pathlib
import time

import keras
import numpy as np
from PIL import Image

keras.utils.set_random_seed(4)


class Leaves(keras.utils.PyDataset):
    def __init__(self, files, batch=16, shuffle=True, **kw):
        super().__init__(**kw)
        self.files, self.batch, self.shuffle = list(files), batch, shuffle
        self.rng = np.random.default_rng(0)

    def __len__(self):
        return len(self.files) // self.batch

    def __getitem__(self, i):
        part = self.files[i * self.batch:(i + 1) * self.batch]
        x = np.stack([np.asarray(Image.open(f).convert("RGB"), np.float32) / 255 for f in part])
        y = np.array([int(f.stem[-1]) for f in part])
        return x, y

    def on_epoch_end(self):
        if self.shuffle:
            self.rng.shuffle(self.files)


class Throttle(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.35)


files = sorted(pathlib.Path("data/train").glob("*.jpg"))
train, val = Leaves(files[:160]), Leaves(files[160:], shuffle=False)
model = keras.Sequential([
    keras.Input((48, 48, 3)),
    keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
    keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
    keras.layers.GlobalAveragePooling2D(),
    keras.layers.Dense(32, activation="relu"),
    keras.layers.Dense(3, activation="softmax"),
])
model.compile(keras.optimizers.Adam(5e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
os.makedirs("ckpt", exist_ok=True)
print(f"backend {keras.backend.backend()}, {len(files)} pictures", flush=True)
model.fit(train, validation_data=val, epochs=24, verbose=2, callbacks=[
    Throttle(),
    keras.callbacks.ModelCheckpoint("ckpt/best.keras", save_best_only=True, monitor="val_loss"),
    keras.callbacks.CSVLogger("history.csv"),
])
model.save("ckpt/final.keras")
