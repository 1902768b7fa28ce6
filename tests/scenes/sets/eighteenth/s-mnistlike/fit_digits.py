import time

import keras
import numpy as np
from keras import layers
from sklearn.datasets import load_digits


class Pace(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.08)


def main():
    keras.utils.set_random_seed(5)
    digits = load_digits()
    x = (digits.images / 16.0).astype("float32")[..., None]
    y = digits.target
    x_train, y_train, x_val, y_val = x[:1300], y[:1300], x[1300:], y[1300:]
    model = keras.Sequential([
        keras.Input((8, 8, 1)),
        layers.Conv2D(8, 3, activation="relu"),
        layers.Flatten(),
        layers.Dropout(0.3),
        layers.Dense(32, activation="relu"),
        layers.Dense(10, activation="softmax"),
    ])
    model.compile(keras.optimizers.Adam(3e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.summary()
    model.fit(
        x_train, y_train, validation_data=(x_val, y_val), batch_size=64, epochs=15,
        callbacks=[
            Pace(),
            keras.callbacks.ReduceLROnPlateau(patience=2, factor=0.3, verbose=1),
            keras.callbacks.ModelCheckpoint("best.keras", save_best_only=True),
        ],
    )
    loss, acc = model.evaluate(x_val, y_val, verbose=0)
    print(f"validation: loss {loss:.4f}, accuracy {acc:.4f}")
    print(np.bincount(model.predict(x_val, verbose=0).argmax(1), minlength=10))


if __name__ == "__main__":
    main()
