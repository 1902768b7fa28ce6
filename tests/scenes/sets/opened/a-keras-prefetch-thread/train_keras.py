"""Keras on a home-made prefetcher: one thread decodes annotations and fills a queue."""
import os

os.environ["KERAS_BACKEND"] = "torch"
import json
import queue
import random
import threading
import time

import keras
import numpy as np

LABELS = {"cat": 0, "dog": 1, "bird": 2}


def annotations(path="annotations.jsonl", n=20000):
    rng = random.Random(9)
    with open(path, "w") as f:
        for i in range(n):
            rec = {"id": i, "label": rng.choice(list(LABELS)), "seed": rng.randrange(1 << 30)}
            if i == 3301:
                rec["lable"] = rec.pop("label")
            f.write(json.dumps(rec) + "\n")
    return path


class Prefetcher(threading.Thread):
    def __init__(self, path, batch=32, depth=8):
        super().__init__(name="Prefetcher", daemon=True)
        self.path, self.batch = path, batch
        self.queue = queue.Queue(depth)

    def run(self):
        xs, ys = [], []
        while True:
            for line in open(self.path):
                rec = json.loads(line)
                y = LABELS[rec["label"]]
                r = np.random.default_rng(rec["seed"])
                xs.append(r.normal(y * 0.5, 1.0, 48).astype("float32"))
                ys.append(y)
                if len(xs) == self.batch:
                    self.queue.put((np.stack(xs), np.array(ys)))
                    xs, ys = [], []


def stream(p):
    while True:
        batch = p.queue.get()
        time.sleep(0.22)
        yield batch


if __name__ == "__main__":
    keras.utils.set_random_seed(3)
    p = Prefetcher(annotations())
    p.start()
    model = keras.Sequential([keras.Input((48,)), keras.layers.Dense(64, activation="relu"),
                              keras.layers.Dense(3, activation="softmax")])
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(stream(p), steps_per_epoch=20, epochs=60, verbose=2)
    model.save("animals.keras")
