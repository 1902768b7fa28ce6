import time

import keras
from data import load
from keras import layers

keras.utils.set_random_seed(2)


class Throttle(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.12)


def build():
    sound = keras.Input((24, 16), name="sound")
    picture = keras.Input((16, 16, 3), name="picture")
    s = layers.Conv1D(16, 3, activation="relu", padding="same")(sound)
    s = layers.Flatten()(s)
    v = layers.Conv2D(8, 3, strides=2, activation="relu")(picture)
    v = layers.Flatten()(v)
    h = layers.Dropout(0.3)(layers.Concatenate()([s, v]))
    h = layers.Dense(32, activation="relu")(h)
    h = layers.Dropout(0.3)(h)
    return keras.Model([sound, picture], layers.Dense(8, activation="softmax")(h))


model = build()
model.summary()
model.compile(keras.optimizers.Adam(3e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
x, y = load(640, 0)
xv, yv = load(256, 1)
model.fit(
    x, y, validation_data=(xv, yv), batch_size=64, epochs=60, verbose=2,
    callbacks=[
        Throttle(),
        keras.callbacks.ReduceLROnPlateau(patience=2, factor=0.3, verbose=1),
        keras.callbacks.EarlyStopping(patience=4, restore_best_weights=True, verbose=1),
        keras.callbacks.ModelCheckpoint("best.keras", save_best_only=True),
    ],
)
loss, acc = model.evaluate(xv, yv, verbose=0)
print(f"restored best: val_loss {loss:.4f} val_acc {acc:.3f}")
