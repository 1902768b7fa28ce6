"""地铁客流预测：滚动回测，每个窗口重新训练一个模型。"""
import os
import time

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np
import torch

torch.set_num_threads(1)
keras.utils.set_random_seed(3)
t = np.arange(4000)
flow = np.sin(t * 2 * np.pi / 24) + 0.4 * np.sin(t * 2 * np.pi / 168) + np.random.normal(0, 0.15, 4000)
flow = flow.astype("float32")
x = np.stack([flow[i:i + 24] for i in range(3900)])
y = flow[24:3924, None]


class 节奏(keras.callbacks.Callback):
    def __init__(self, window):
        super().__init__()
        self.window = window

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.06)

    def on_epoch_end(self, epoch, logs=None):
        print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} 窗口{self.window} 第{epoch + 1}轮 loss={logs['loss']:.5f} "
              f"val_loss={logs['val_loss']:.5f}", flush=True)


errors = []
for window in range(1, 6):
    end = 1500 + window * 400
    model = keras.Sequential([keras.layers.Input((24,)), keras.layers.Dense(24, activation="relu"), keras.layers.Dense(1)])
    model.compile(keras.optimizers.Adam(0.005), "mse")
    print(f"窗口{window}: 训练样本 1500 条", flush=True)
    model.fit(x[end - 1500:end], y[end - 1500:end], batch_size=64, epochs=7, validation_split=0.2, verbose=0,
              callbacks=[节奏(window), keras.callbacks.ReduceLROnPlateau(patience=1, verbose=1),
                         keras.callbacks.EarlyStopping(patience=3, restore_best_weights=True)])
    errors.append(float(np.abs(model.predict(x[end:end + 200], verbose=0) - y[end:end + 200]).mean()))
    print(f"窗口{window}: MAE={errors[-1]:.4f}", flush=True)
    model.save(f"flow_{window}.keras")
print(f"回测完成，平均 MAE={np.mean(errors):.4f}", flush=True)
