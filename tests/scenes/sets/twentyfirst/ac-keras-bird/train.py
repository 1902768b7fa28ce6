"""Classification de chants d'oiseaux à partir de spectrogrammes (Keras, backend torch)."""
import os

os.environ["KERAS_BACKEND"] = "torch"
import time

import keras
import numpy as np

CLASSES, BINS, FRAMES, CLIPS = 4, 64, 128, 160


class Sons(keras.utils.PyDataset):
    """Fenêtres tirées au hasard dans chaque enregistrement ; le spectrogramme calculé est gardé en mémoire."""

    def __init__(self):
        super().__init__(workers=1)
        self.rng = np.random.default_rng(0)
        self.cache = {}

    def __len__(self):
        return 24

    def spectro(self, clip, debut):
        cle = (clip, debut)
        if cle not in self.cache:
            r = np.random.default_rng(clip)
            f = 200 * (1 + clip % CLASSES)
            t = debut + np.arange(16384 * 4) / 16000
            s = np.sin(2 * np.pi * f * t + np.sin(3 * t)) + r.normal(0, 0.8, t.size)
            cadres = np.lib.stride_tricks.sliding_window_view(s, 512)[::256] * np.hanning(512)
            # spectre complet gardé : la phase sert à l'augmentation
            self.cache[cle] = np.repeat(np.fft.fft(cadres), 2, axis=0)
        return self.cache[cle]

    def __getitem__(self, i):
        xs, ys = [], []
        for _ in range(2):
            clip = int(self.rng.integers(CLIPS))
            s = self.spectro(clip, round(float(self.rng.uniform(0, 5)), 3))
            xs.append(np.log1p(np.abs(s[:FRAMES, :BINS])).mean(0))
            ys.append(clip % CLASSES)
        time.sleep(0.3)
        return np.array(xs, np.float32), np.array(ys)


class Journal(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        print(f"époque {epoch + 1:3d} - perte {logs['loss']:.4f} - exactitude {logs['accuracy']:.3f} - "
              f"{len(self.model.sons.cache)} spectrogrammes en cache", flush=True)


keras.utils.set_random_seed(0)
reseau = keras.Sequential([keras.Input((BINS,)), keras.layers.BatchNormalization(), keras.layers.Dense(48, "relu"),
                           keras.layers.Dense(CLASSES, "softmax")])
reseau.compile(keras.optimizers.Adam(2e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
os.makedirs("modeles", exist_ok=True)
reseau.sons = Sons()
print(f"{reseau.count_params()} paramètres, {CLIPS} enregistrements", flush=True)
reseau.fit(reseau.sons, epochs=60, verbose=0,
           callbacks=[Journal(), keras.callbacks.ModelCheckpoint("modeles/dernier.keras")])
print("entraînement terminé", flush=True)
