import time

import numpy as np
import torch
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNetClassifier
from skorch.callbacks import Callback, Checkpoint, EarlyStopping, EpochScoring
from torch import nn

torch.manual_seed(3)
torch.set_num_threads(1)
X, y = load_wine(return_X_y=True)
X = StandardScaler().fit_transform(X).astype(np.float32)
rng = np.random.default_rng(1)
X = X[:, :5] + rng.normal(0, 0.8, (len(X), 5)).astype(np.float32)
y = y.astype(np.int64)


class Wait(Callback):
    def on_batch_end(self, net, training=False, **kw):
        if training:
            time.sleep(0.16)


net = NeuralNetClassifier(
    nn.Sequential(nn.Linear(5, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3)),
    criterion=nn.CrossEntropyLoss, optimizer=torch.optim.Adam, lr=4e-3, batch_size=16, max_epochs=200,
    callbacks=[
        ("f1", EpochScoring("f1_macro", lower_is_better=False)),
        ("best", Checkpoint(monitor="valid_loss_best", dirname="exp1")),
        ("stop", EarlyStopping(patience=12)),
        Wait(),
    ],
)
net.fit(X, y)
best = min(h["valid_loss"] for h in net.history)
print(f"best valid loss {best:.4f} after {len(net.history)} epochs")
