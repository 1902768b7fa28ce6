"""Story model in keras; after each epoch continuations are written with beam search for the reviewers."""
import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import time

import keras
import numpy as np
import torch

torch.set_num_threads(1)
keras.utils.set_random_seed(4)
V, L, BS, SPE, EPOCHS = 120, 16, 16, 90, 3
rng = np.random.default_rng(1)
table = rng.integers(1, V, (V, 3))


def sentences(n):
    x = np.empty((n, L + 1), dtype="int32")
    x[:, 0] = rng.integers(1, V, n)
    for t in range(L):
        x[:, t + 1] = table[x[:, t], rng.integers(0, 3, n)]
    return x[:, :-1], x[:, 1:]


class Pace(keras.callbacks.Callback):
    def on_train_batch_end(self, b, logs=None):
        time.sleep(0.12)


class Continuations(keras.callbacks.Callback):
    """Beam search over long continuations. Slow, and it says nothing until the file is there."""
    prompts, beams, length = 24, 4, 16

    def on_epoch_end(self, epoch, logs=None):
        t0 = time.time()
        print(f"epoch {epoch + 1}: writing {self.prompts} continuations with beam search, about 45 s, back when the file is there", flush=True)
        with open(f"continuations_{epoch + 1}.txt", "w") as f:
            for k in range(self.prompts):
                seqs = [([int(rng.integers(1, V))], 0.0)]
                for _ in range(self.length):
                    x = np.zeros((len(seqs), L), dtype="int32")
                    for i, (s, _s) in enumerate(seqs):
                        x[i, : len(s[-L:])] = s[-L:]
                    lp = np.log(keras.ops.convert_to_numpy(self.model(x)) + 1e-9)
                    cand = [(s + [int(t)], sc + float(lp[i, min(len(s), L) - 1, t]))
                            for i, (s, sc) in enumerate(seqs) for t in np.argsort(-lp[i, min(len(s), L) - 1])[: self.beams]]
                    seqs = sorted(cand, key=lambda c: -c[1])[: self.beams]
                    time.sleep(0.1)
                f.write(" ".join(map(str, seqs[0][0])) + "\n")
        print(f"epoch {epoch + 1}: continuations_{epoch + 1}.txt done in {time.time() - t0:.0f} s", flush=True)


class Lines(keras.callbacks.Callback):
    def on_train_batch_end(self, b, logs=None):
        if (b + 1) % 10 == 0:
            print(f"  batch {b + 1}/{SPE} - loss: {logs['loss']:.4f} - acc: {logs['accuracy']:.4f}", flush=True)


model = keras.Sequential([keras.Input((L,)), keras.layers.Embedding(V, 48), keras.layers.Conv1D(96, 3, padding="causal", activation="relu"),
                          keras.layers.Dense(V, activation="softmax")])
model.compile(keras.optimizers.Adam(3e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
x, y = sentences(BS * SPE)
model.fit(x, y, batch_size=BS, epochs=EPOCHS, verbose=2, shuffle=True,
          callbacks=[Pace(), Lines(), keras.callbacks.ModelCheckpoint("story_{epoch}.weights.h5", save_weights_only=True), Continuations()])
print("finished, three epochs", flush=True)
