import os
os.environ["KERAS_BACKEND"] = "torch"
os.environ.setdefault("OMP_NUM_THREADS", "1")
import json
import time
import numpy as np
import keras

keras.utils.set_random_seed(12)
rng = np.random.default_rng(0)
x = rng.normal(size=(960, 16, 16, 1)).astype("float32")
y = (x[:, 4:8, 4:8, 0].mean((1, 2)) > 0).astype("float32")
xv, yv = x[:160], y[:160]


class Pace(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.13)


class BestReport(keras.callbacks.Callback):
    """writes report.json for the dashboard when the recall target is reached"""

    def __init__(self, path):
        super().__init__()
        self.path = path
        self.hist = []

    def on_epoch_end(self, epoch, logs=None):
        p = self.model.predict(xv, verbose=0)[:, 0]
        best = max((0.3, 0.4, 0.5, 0.6), key=lambda t: ((p > t) == (yv > 0.5)).mean())
        recall = (p[yv > 0.5] > best).astype("float32").mean()
        self.hist.append({"epoch": epoch + 1, "val_loss": logs["val_loss"], "threshold": best})
        if epoch >= 3:
            self.hist[-1]["recall"] = recall
        with open(self.path, "w") as f:
            json.dump(self.hist, f, indent=1)


model = keras.Sequential([
    keras.Input((16, 16, 1)), keras.layers.Conv2D(8, 3, activation="relu"), keras.layers.MaxPooling2D(),
    keras.layers.Flatten(), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1, activation="sigmoid")])
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="binary_crossentropy", metrics=["accuracy"])
model.summary()
os.makedirs("runs", exist_ok=True)
model.fit(x, y, batch_size=16, epochs=20, validation_data=(xv, yv), verbose=2, callbacks=[
    Pace(), keras.callbacks.ModelCheckpoint("runs/defects_{epoch:02d}.keras"), BestReport("runs/report.json")])
model.save("runs/defects_final.keras")
print("saved final model")
