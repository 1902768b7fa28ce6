import os
os.environ["KERAS_BACKEND"] = "jax"
import time
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(11)
rng = np.random.default_rng(11)
X = rng.normal(size=(1200, 20)).astype("float32")
w = rng.normal(size=20)
y = ((X @ w / 3 + rng.normal(size=1200) * 0.9) > 0).astype("int32")
X_train, y_train, X_test, y_test = X[:900], y[:900], X[900:], y[900:]
print("churn rate:", y.mean().round(3))

model = keras.Sequential([layers.Input((20,)), layers.Dense(64, activation="relu"), layers.Dropout(0.3),
                          layers.Dense(32, activation="relu"), layers.Dense(1, activation="sigmoid")])
model.compile(optimizer=keras.optimizers.Adam(3e-3), loss="binary_crossentropy", metrics=["accuracy", keras.metrics.AUC(name="auc")])


class Slow(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.12)


model.fit(X_train, y_train, validation_split=0.2, epochs=100, batch_size=32, callbacks=[
    Slow(),
    keras.callbacks.ReduceLROnPlateau(monitor="val_loss", factor=0.5, patience=3, verbose=1),
    keras.callbacks.EarlyStopping(monitor="val_loss", patience=7, restore_best_weights=True, verbose=1),
    keras.callbacks.ModelCheckpoint("best.keras", monitor="val_loss", save_best_only=True, verbose=1),
])
print("Test:", dict(zip(["loss", "accuracy", "auc"], np.round(model.evaluate(X_test, y_test, verbose=0), 4))))
model.save("churn.keras")
