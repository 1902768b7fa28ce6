import os
os.environ["KERAS_BACKEND"] = "jax"
import argparse
import time

import keras
import numpy as np
from keras import layers
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

NAMES = ["nevus", "melanoma", "keratosis", "bcc", "dermatofibroma"]
SHARE = [0.62, 0.14, 0.13, 0.1075, 0.0025]


def tiles(n, rng):
    y = rng.choice(len(NAMES), n, p=SHARE)
    x = rng.normal(0.5, 0.2, (n, 16, 16, 3)).astype("float32")
    for c in range(len(NAMES)):
        x[y == c, 2 * c:2 * c + 4, 3:9, c % 3] += 0.35
    return x, y


class Slow(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.3)


class Auc(keras.callbacks.Callback):
    def __init__(self, x, y):
        super().__init__()
        self.x, self.y = x, y

    def on_epoch_end(self, epoch, logs=None):
        p = self.model.predict(self.x, batch_size=64, verbose=0)
        auc = roc_auc_score(self.y, p / p.sum(1, keepdims=True), multi_class="ovr")
        print(f"epoch {epoch + 1}: val AUC (ovr) {auc:.4f}", flush=True)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=12)
    ap.add_argument("--n", type=int, default=2400)
    a = ap.parse_args()
    keras.utils.set_random_seed(0)
    x, y = tiles(a.n, np.random.default_rng(8))
    xt, xv, yt, yv = train_test_split(x, y, test_size=0.08, random_state=2)
    print(f"{len(xt)} training tiles, {len(xv)} validation tiles, {len(NAMES)} diagnoses", flush=True)
    model = keras.Sequential([
        keras.Input((16, 16, 3)), layers.Conv2D(8, 3, activation="relu"), layers.MaxPooling2D(),
        layers.Conv2D(16, 3, activation="relu"), layers.GlobalAveragePooling2D(), layers.Dense(len(NAMES), "softmax")])
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(xt, yt, batch_size=24, epochs=a.epochs, verbose=2, callbacks=[Slow(), Auc(xv, yv)])
    model.save("skin.keras")


if __name__ == "__main__":
    main()
