"""Random search for the crop-yield regressor. Hopeless trials are cut early: not finite, or worse than the median at epoch 3."""
import os

os.environ["KERAS_BACKEND"] = "torch"
import csv
import math
import time

import keras
import numpy as np

TRIALS = 12
EPOCHS = 8


class Pace(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.06)


class MedianStop(keras.callbacks.Callback):
    """Stop a trial at epoch 3 if it is worse than the median of the earlier ones at that epoch."""

    def __init__(self, board):
        super().__init__()
        self.board = board
        self.pruned = False

    def on_epoch_end(self, epoch, logs=None):
        if epoch + 1 == 3:
            value = logs["val_loss"]
            if len(self.board) >= 3 and not value < float(np.median(self.board)):
                self.pruned = True
                self.model.stop_training = True
            self.board.append(value if math.isfinite(value) else 1e9)


def data(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 20)).astype("float32")
    w = np.random.default_rng(50).normal(size=(20, 1)).astype("float32")
    y = np.tanh(x @ w) + 0.5 * x[:, :1] + 0.2 * rng.normal(size=(n, 1))
    return x, y.astype("float32")


def build(lr, hidden):
    layers = [keras.layers.Input((20,))]
    if hidden:
        layers.append(keras.layers.Dense(hidden, activation="relu"))
    layers.append(keras.layers.Dense(1))
    model = keras.Sequential(layers)
    model.compile(keras.optimizers.SGD(lr), loss="mse")
    return model


def main():
    x, y = data(640, 1)
    xv, yv = data(200, 2)
    rng = np.random.default_rng(9)
    board, best = [], (math.inf, None)
    os.makedirs("search", exist_ok=True)
    out = open("search/trials.csv", "w", newline="", buffering=1)
    table = csv.writer(out)
    table.writerow(["trial", "lr", "hidden", "state", "epochs", "val_loss"])
    for trial in range(TRIALS):
        lr = float(10 ** rng.uniform(-3.5, -1.0))
        hidden = int(rng.choice([0, 16, 64]))
        if trial % 4 == 2:
            lr, hidden = 30.0, 0  # the far corner of the range, once in a while
        keras.utils.set_random_seed(trial)
        print(f"Trial {trial}: lr={lr:.2e} hidden={hidden}", flush=True)
        stopper = MedianStop(board)
        model = build(lr, hidden)
        hist = model.fit(x, y, validation_data=(xv, yv), batch_size=32, epochs=EPOCHS, verbose=0,
                         callbacks=[keras.callbacks.TerminateOnNaN(), stopper, Pace()])
        losses = hist.history["val_loss"]
        last = losses[-1]
        if not math.isfinite(last) or not all(map(math.isfinite, hist.history["loss"])):
            state = "FAILED(nan)"
        else:
            state = "PRUNED" if stopper.pruned else "COMPLETE"
        table.writerow([trial, f"{lr:.3e}", hidden, state, len(losses), last])
        print(f"Trial {trial} finished: state={state} epochs={len(losses)} value={last:.5f}", flush=True)
        if state == "COMPLETE" and last < best[0]:
            best = (last, trial)
            model.save("search/best.keras")
        print(f"  best so far: trial {best[1]} value {best[0]:.5f}", flush=True)
    print(f"search over, {TRIALS} trials, best is trial {best[1]} with {best[0]:.5f}", flush=True)


if __name__ == "__main__":
    main()
