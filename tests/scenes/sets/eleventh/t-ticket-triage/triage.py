"""Which team gets which ticket of the cluster's helpdesk? Keras on bags of words."""
import os
os.environ.update(KERAS_BACKEND="torch", OMP_NUM_THREADS="1")
import random, time
import numpy as np
import torch
torch.set_num_threads(1)
import keras
from keras import layers

keras.utils.set_random_seed(9)
TEAMS = ["gpu", "storage", "network", "accounts"]
SAID = {
    "gpu": ["RuntimeError: CUDA out of memory. Tried to allocate {n}.00 GiB", "loss is nan after step {n}00", "NCCL error: unhandled system error on rank {n}", "CUDA error: an illegal memory access was encountered", "Xid 79: GPU has fallen off the bus, node{n}"],
    "storage": ["OSError: [Errno 28] No space left on device: /scratch{n}", "torch.save killed, quota of {n} TB exceeded", "stale file handle on /home{n}", "checkpoint file is corrupted, {n} bytes missing"],
    "network": ["ssh: connection timed out after {n}0 s", "ConnectionResetError: [Errno 104] Connection reset by peer, port {n}", "DNS lookup failed for login{n}"],
    "accounts": ["permission denied (publickey) for user{n}", "my password has expired, please reset user{n}", "srun: error: invalid account group{n}"],
}
WRAP = ["{}", "hi, my job says: {}", "help!! {}", "since monday: {} - any idea?", "process was Killed, log: {}"]


def ticket(r):
    team = r.choice(TEAMS)
    return r.choice(WRAP).format(r.choice(SAID[team]).format(n=r.randint(1, 9))), TEAMS.index(team) if r.random() > 0.05 else r.randrange(4)


r = random.Random(1)
rows = [ticket(r) for _ in range(900)]
words = sorted({w for t, _ in rows for w in t.lower().split()})
where = {w: i for i, w in enumerate(words)}


def bag(t):
    v = np.zeros(len(words), "float32")
    for w in t.lower().split():
        if w in where:
            v[where[w]] = 1
    return v


X, y = np.stack([bag(t) for t, _ in rows]), np.array([c for _, c in rows])


class Show(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.11)

    def on_epoch_end(self, epoch, logs=None):
        for t, _ in r.sample(rows, 4):
            p = self.model.predict(bag(t)[None], verbose=0)[0]
            print(f"   {t!r} -> {TEAMS[p.argmax()]} ({p.max():.2f})", flush=True)


model = keras.Sequential([layers.Input((len(words),)), layers.Dense(24, activation="relu"), layers.Dropout(0.3), layers.Dense(4, activation="softmax")])
model.compile(keras.optimizers.Adam(2e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
model.summary()
model.fit(X[:720], y[:720], validation_data=(X[720:], y[720:]), epochs=12, batch_size=24, verbose=2,
          callbacks=[Show(), keras.callbacks.ModelCheckpoint("triage.keras", save_best_only=True), keras.callbacks.TerminateOnNaN()])
loss, acc = model.evaluate(X[720:], y[720:], verbose=0)
print(f"held-out accuracy {acc:.3f}, loss {loss:.3f}")
