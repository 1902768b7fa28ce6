"""Pronóstico de la demanda eléctrica por hora (reentrenamiento semanal)."""
import os
import time

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np
import torch

torch.set_num_threads(1)
keras.utils.set_random_seed(8)
t = np.arange(3000)
demanda = 30000 + 4000 * np.sin(t * 2 * np.pi / 24) + 1500 * np.sin(t * 2 * np.pi / 168) + np.random.normal(0, 300, 3000)
serie = ((demanda - demanda.mean()) / demanda.std()).astype("float32")
x = np.stack([serie[i:i + 48] for i in range(2900)])
y = serie[48:2948, None]


def tasa(epoca):
    """Calentamiento, después crece para el lote grande (regla de escala lineal)."""
    return 0.002 if epoca < 6 else 0.002 * 4 ** (epoca - 5)


class Registro(keras.callbacks.Callback):
    def on_train_batch_end(self, lote, logs=None):
        time.sleep(0.08)

    def on_epoch_end(self, epoca, logs=None):
        print(f"{time.strftime('%d/%m/%Y %H:%M:%S')} INFO época {epoca + 1}/24 - pérdida: {logs['loss']:.6g} - "
              f"pérdida_val: {logs['val_loss']:.6g} - tasa: {float(self.model.optimizer.learning_rate):.3g}", flush=True)


modelo = keras.Sequential([keras.layers.Input((48,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1)])
modelo.compile(keras.optimizers.SGD(0.002, momentum=0.9), "mse")
print("INFO parámetros:", modelo.count_params(), flush=True)
modelo.fit(x, y, batch_size=64, epochs=24, validation_split=0.1, verbose=0,
           callbacks=[keras.callbacks.LearningRateScheduler(tasa), Registro()])
modelo.save("demanda.keras")
print("INFO modelo guardado en demanda.keras", flush=True)
