import json
import os
import sys
import time
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras

cfg = json.load(open(sys.argv[1]))
keras.utils.set_random_seed(cfg["seed"])
rng = np.random.default_rng(1)
x = rng.normal(size=(600, 12)).astype("float32")
y = x[:, :3].sum(1, keepdims=True)


class Pace(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.1)


model = keras.Sequential([keras.Input((12,)), keras.layers.Dense(cfg["width"], activation="relu"), keras.layers.Dense(1)])
model.compile(optimizer=keras.optimizers.Adam(cfg["lr"]), loss="mse")
print("config:", cfg, flush=True)
model.fit(x, y, batch_size=20, epochs=1, verbose=2, callbacks=[Pace()])
# the first epoch was a warm-up with a constant rate
steps = cfg["lr_schedule"]["steps"]
for epoch in range(1, 20):
    model.optimizer.learning_rate = cfg["lr"] * 0.5 ** sum(epoch >= s for s in steps)
    model.fit(x, y, batch_size=20, epochs=epoch + 1, initial_epoch=epoch, verbose=2, callbacks=[Pace()])
model.save(os.path.join(os.path.dirname(sys.argv[1]), "model.keras"))
