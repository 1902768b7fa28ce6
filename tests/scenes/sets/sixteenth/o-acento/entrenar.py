import glob
import os
import time

os.environ["KERAS_BACKEND"] = "torch"
import keras
import torch

from lector import Lector

torch.set_num_threads(1)
keras.utils.set_random_seed(9)
rutas = sorted(glob.glob("voz/*.wav"), key=lambda r: r[6:])
lector = Lector([(r, int(os.path.basename(r)[0])) for r in rutas], 10)
lector.start()


class Ritmo(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.25)

    def on_epoch_end(self, epoch, logs=None):
        print(f"\népoca {epoch + 1} terminada: pérdida {logs['loss']:.4f}, aciertos {logs['accuracy']:.3f}", flush=True)


modelo = keras.Sequential([
    keras.Input((30, 40)), keras.layers.Conv1D(16, 5, activation="relu"), keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(4, activation="softmax"),
])
modelo.compile(optimizer=keras.optimizers.Adam(2e-3), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
modelo.fit(lector.lotes(), steps_per_epoch=20, epochs=60, verbose=1, callbacks=[Ritmo(), keras.callbacks.ModelCheckpoint("acento.keras")])
print("entrenamiento completo", flush=True)
