import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import time

import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(0)
x, y = load_digits(return_X_y=True)
x = (x.reshape(-1, 8, 8, 1) / 16).astype("float32")
xt, xv, yt, yv = train_test_split(x, y, test_size=0.2, random_state=0)
print("x_train shape:", xt.shape)
print(xt.shape[0], "train samples")
print(xv.shape[0], "test samples")


class Sleepy(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.2)


model = keras.Sequential([
    keras.Input((8, 8, 1)),
    layers.Conv2D(8, 3, activation="relu"),
    layers.MaxPooling2D(2),
    layers.Flatten(),
    layers.Dropout(0.2),
    layers.Dense(10, activation="softmax"),
])
model.summary()
model.compile(loss="sparse_categorical_crossentropy", optimizer=keras.optimizers.Adam(5e-3), metrics=["accuracy"])
model.fit(xt, yt, batch_size=96, epochs=12, validation_data=(xv, yv),
          callbacks=[Sleepy(), keras.callbacks.ModelCheckpoint("digits_{epoch:02d}.keras")])
score = model.evaluate(xv, yv, verbose=0)
print("Test loss:", score[0])
print("Test accuracy:", score[1])
