import os
import time

os.environ["KERAS_BACKEND"] = "torch"
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import keras
import numpy as np

with open("train.pid", "w") as f:
    f.write(str(os.getpid()))
keras.utils.set_random_seed(3)
rng = np.random.default_rng(3)
x = rng.normal(size=(640, 24)).astype("float32")
y = (np.sin(x[:, :4].sum(1)) > 0).astype("float32")


class Pace(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.2)


model = keras.Sequential([keras.Input((24,)), keras.layers.Dense(64, activation="relu"),
                          keras.layers.Dropout(0.1), keras.layers.Dense(1, activation="sigmoid")])
model.compile(optimizer=keras.optimizers.Adam(2e-3), loss="binary_crossentropy", metrics=["accuracy"])
model.fit(x[:512], y[:512], validation_data=(x[512:], y[512:]), epochs=30, batch_size=32, verbose=2,
          callbacks=[Pace(), keras.callbacks.ModelCheckpoint("weights.{epoch:02d}.keras", save_freq=160)])
model.save("final.keras")
print("saved final.keras", flush=True)
