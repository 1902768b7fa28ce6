import contextlib
import fcntl
import os

import keras


@contextlib.contextmanager
def locked(folder):
    """Only one job at a time writes into the model folder."""
    with open(os.path.join(folder, ".lock"), "w") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(f, fcntl.LOCK_UN)


class Keep(keras.callbacks.Callback):
    def __init__(self, folder, export_from):
        super().__init__()
        self.folder, self.export_from, self.best = folder, export_from, float("inf")
        os.makedirs(folder, exist_ok=True)

    def on_epoch_end(self, epoch, logs=None):
        val = logs["val_loss"]
        if val < self.best:
            with locked(self.folder):
                path = os.path.join(self.folder, "best.weights.h5")
                self.model.save_weights(path)
                print(f"\nval_loss {self.best:.4f} -> {val:.4f}, wrote {path}", flush=True)
                self.best = val
                if epoch + 1 >= self.export_from:
                    self.export()

    def export(self):
        with locked(self.folder):
            self.model.save(os.path.join(self.folder, "release.keras"))
            print("release.keras written", flush=True)
