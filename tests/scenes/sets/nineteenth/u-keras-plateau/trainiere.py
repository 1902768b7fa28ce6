import os, time
os.environ.setdefault("KERAS_BACKEND", "torch")
import keras, numpy as np
keras.utils.set_random_seed(4)
rng = np.random.default_rng(4)
print("Erzeuge Messdaten ...")
x = rng.normal(size=(480, 12)).astype("float32"); y = (np.sin(x[:, 0]) + .5 * x[:, 1] + .3 * rng.normal(size=480)).astype("float32")

class Bremse(keras.callbacks.Callback):
    def on_train_batch_end(self, b, logs=None): time.sleep(.07)
    def on_epoch_end(self, e, logs=None):
        print(f"\nEpoche {e + 1} fertig: Verlust {logs['loss']:.4f}, Validierung {logs['val_loss']:.4f}")

m = keras.Sequential([keras.Input((12,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
m.compile(keras.optimizers.Adam(1e-2), "mse")
m.fit(x[:384], y[:384], validation_data=(x[384:], y[384:]), epochs=18, batch_size=32, verbose=2, callbacks=[
    Bremse(), keras.callbacks.ReduceLROnPlateau(patience=2, factor=.3, verbose=1), keras.callbacks.CSVLogger("verlauf.csv"),
    keras.callbacks.ModelCheckpoint("bestes.keras", save_best_only=True, verbose=1)])
print("Training abgeschlossen. Testfehler:", float(m.evaluate(x[384:], y[384:], verbose=0)))
