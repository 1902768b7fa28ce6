"""Keras (torch backend) classifier fed by shards over HTTP."""
import io
import itertools
import logging
import os
import time
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras
import numpy as np
import requests
import torch

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
log = logging.getLogger("shards")
URL = f"http://127.0.0.1:{Path('sidecar.port').read_text()}"


def fetch(n):
    for attempt in itertools.count(1):
        try:
            r = requests.get(f"{URL}/shard/{n}", timeout=10)
            r.raise_for_status()
            with np.load(io.BytesIO(r.content)) as z:
                return z["x"], z["y"]
        except requests.RequestException as e:
            wait = min(2**attempt, 45)
            log.warning("shard %d, attempt %d: %s; next try in %d s", n, attempt, e, wait)
            time.sleep(wait)


class Shards(keras.utils.PyDataset):
    def __init__(self, count):
        super().__init__()
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return fetch(i)


class Pace(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.4)


torch.set_num_threads(1)
keras.utils.set_random_seed(1)
model = keras.Sequential([keras.layers.Input((20,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(5)])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
model.fit(Shards(25), epochs=40, verbose=2, callbacks=[Pace(), keras.callbacks.ModelCheckpoint("ckpt_{epoch:02d}.keras")])
