import os
os.environ["KERAS_BACKEND"] = "torch"
os.environ.setdefault("OMP_NUM_THREADS", "1")
import time
import numpy as np
import keras

keras.utils.set_random_seed(5)
rng = np.random.default_rng(5)
x = rng.normal(size=(500, 30)).astype("float32")
y = (x[:, :1] + rng.normal(scale=1.5, size=(500, 1))).astype("float32")


class Pace(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.12)


model = keras.Sequential([keras.Input((30,)), keras.layers.Dense(128, activation="relu"), keras.layers.Dense(128, activation="relu"),
                          keras.layers.Dense(1)])
model.compile(optimizer=keras.optimizers.Adam(3e-3), loss="mse", metrics=["mae"])
os.makedirs("models", exist_ok=True)
hist = model.fit(x[:380], y[:380], batch_size=20, epochs=300, validation_data=(x[380:], y[380:]), verbose=1, callbacks=[
    Pace(),
    keras.callbacks.ReduceLROnPlateau(monitor="val_loss", factor=0.2, patience=3, verbose=1),
    keras.callbacks.ModelCheckpoint("models/best.keras", monitor="val_loss", save_best_only=True, verbose=1),
    keras.callbacks.EarlyStopping(monitor="val_loss", patience=10, restore_best_weights=True, verbose=1),
    keras.callbacks.CSVLogger("models/history.csv")])
print("epochs run:", len(hist.history["loss"]))
model.save("models/final.keras")
