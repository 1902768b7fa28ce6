"""Sea level from 24 hourly values, Keras on torch. Residuals are kept for the plots of the report."""
import json
import logging
import os
import sys
import time

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np
import torch

logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger("tides")


class ReportData(keras.callbacks.Callback):
    """Everything the plots need, always up to date on disk."""

    def __init__(self, path, x, y):
        super().__init__()
        self.path, self.x, self.y, self.rows, self.n = path, x, y, [], 0

    def on_train_batch_end(self, batch, logs=None):
        self.n += 1
        time.sleep(0.07)
        with torch.no_grad():
            pred = self.model(self.x).detach().cpu().numpy()
        self.rows.append({"n": self.n, "loss": float(logs["loss"]), "residuals": (pred - self.y).ravel().tolist()})
        with open(self.path + ".tmp", "w") as f:
            f.write(json.dumps(self.rows))
        os.replace(self.path + ".tmp", self.path)
        if self.n % 10 == 0:
            log.info("batch %d loss %.5f", self.n, logs["loss"])


def main():
    keras.utils.set_random_seed(8)
    torch.set_num_threads(1)
    g = np.random.default_rng(8)
    t = g.uniform(0, 700, size=(24000, 1)) + np.arange(25)
    level = np.sin(t / 1.98) + 0.4 * np.sin(t / 3.82 + 1) + 0.05 * g.normal(size=t.shape)
    x, y = level[:, :24].astype("float32"), level[:, 24:].astype("float32")
    model = keras.Sequential([keras.Input((24,)), keras.layers.Dense(32, activation="tanh"), keras.layers.Dense(1)])
    model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mse")
    log.info("training on %d windows, 3 epochs of 300 batches", 300 * 64)
    model.fit(x[: 300 * 64], y[: 300 * 64], batch_size=64, epochs=3, verbose=0,
              callbacks=[ReportData("report_data.json", x[-4800:], y[-4800:])])
    model.save("tides.keras")
    log.info("saved tides.keras")


if __name__ == "__main__":
    main()
