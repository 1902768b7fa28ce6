"""Keras (jax) で小さな分類器を学習. 学習率は余弦の再始動, 早期終了あり."""
import os
import time

os.environ.setdefault("KERAS_BACKEND", "jax")
import keras
import numpy as np

EPOCHS, CYCLE = 200, 5


def data(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    x = rng.normal(size=(n, 16)).astype("float32")
    x[np.arange(n), y * 4] += 1.4
    flip = rng.random(n) < 0.15
    return x, np.where(flip, rng.integers(0, 3, n), y)


class Log(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.2)

    def on_epoch_begin(self, epoch, logs=None):
        if epoch and epoch % CYCLE == 0:
            print(f"学習率を再始動 (周期 {epoch // CYCLE + 1})", flush=True)

    def on_epoch_end(self, epoch, logs=None):
        lr = float(self.model.optimizer.learning_rate)
        print(f"エポック {epoch + 1}/{EPOCHS} 学習率 {lr:.5f} " + " ".join(f"{k} {v:.4f}" for k, v in logs.items()), flush=True)


keras.utils.set_random_seed(2)
x, y = data(2560, 0)
xv, yv = data(400, 1)
model = keras.Sequential([keras.layers.Input((16,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(3)])
schedule = keras.optimizers.schedules.CosineDecayRestarts(0.4, CYCLE * 20, t_mul=1.0, alpha=0.002)
model.compile(keras.optimizers.SGD(schedule, momentum=0.9), keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
stop = keras.callbacks.EarlyStopping("val_loss", patience=9, min_delta=0.002, restore_best_weights=True, verbose=1, start_from_epoch=8)
best = keras.callbacks.ModelCheckpoint("best.keras", "val_loss", save_best_only=True, verbose=1)
model.fit(x, y, batch_size=128, epochs=EPOCHS, validation_data=(xv, yv), verbose=0, callbacks=[Log(), best, stop])
loss, acc = model.evaluate(xv, yv, verbose=0)
model.save("final.keras")
print(f"終了: 検証損失 {loss:.4f} 正解率 {acc:.4f}, final.keras を保存", flush=True)
