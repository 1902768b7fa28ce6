import os
os.environ["KERAS_BACKEND"] = "torch"
os.environ["OMP_NUM_THREADS"] = "1"
import time
import numpy as np
import keras
from keras import layers

print("keras", keras.__version__)
rng = np.random.default_rng(0)
NUM_CLASSES, IMG = 5, 16
names = ["daisy", "dandelion", "roses", "sunflowers", "tulips"]

# same layout as the tutorial: (n, h, w, 3) + integer labels
proto = rng.uniform(0, 1, (NUM_CLASSES, IMG, IMG, 3))
y = rng.integers(0, NUM_CLASSES, 800)
x = (proto[y] * 0.35 + rng.uniform(0, 1, (800, IMG, IMG, 3)) * 0.65).astype("float32")
x_train, y_train, x_val, y_val = x[:640], y[:640], x[640:], y[640:]
print("Found 800 files belonging to 5 classes.")
print("Using 640 files for training.")
print("Using 160 files for validation.")


class Throttle(keras.callbacks.Callback):
    """the box gets too hot otherwise"""
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.2)


model = keras.Sequential([
    layers.Input((IMG, IMG, 3)),
    layers.Conv2D(8, 3, padding="same", activation="relu"),
    layers.MaxPooling2D(),
    layers.Conv2D(16, 3, padding="same", activation="relu"),
    layers.MaxPooling2D(),
    layers.Dropout(0.2),
    layers.Flatten(),
    layers.Dense(32, activation="relu"),
    layers.Dense(NUM_CLASSES),
])
model.compile(optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
model.summary()
history = model.fit(x_train, y_train, validation_data=(x_val, y_val), epochs=8, batch_size=32,
                    callbacks=[Throttle()], verbose=2)

loss, acc = model.evaluate(x_val, y_val, verbose=0)
print(f"val accuracy: {acc:.3f}")
os.makedirs("models", exist_ok=True)
model.save("models/flowers_v2")
print("model saved, now predict.py can be run")
