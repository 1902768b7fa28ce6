import sys
import time

import numpy as np
import torch
from skorch import NeuralNetClassifier
from skorch.callbacks import Callback, EpochScoring
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from torch import nn

torch.set_num_threads(1)
rng = np.random.default_rng(8)
y = (rng.random(500) < 0.3).astype("int64")
yy, xx = np.mgrid[-12:12, -12:12]
x = np.exp(-(yy**2 + xx**2) / 90)[None].repeat(500, 0) + rng.normal(0, 0.3, (500, 24, 24))
for i in np.flatnonzero(y):  # microaneurysms
    for _ in range(5):
        r, c = rng.integers(2, 22, 2)
        x[i, r - 1 : r + 1, c - 1 : c + 1] -= 0.95
x = x.astype("float32")[:, None]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.ReLU(), nn.AdaptiveMaxPool2d(4), nn.Flatten(), nn.Dropout(0.2), nn.Linear(128, 2))

    def forward(self, x):
        return self.f(x)


class Pace(Callback):
    def on_batch_end(self, net, **kw):
        time.sleep(0.03)


aucs = []
for k, (tr, te) in enumerate(StratifiedKFold(5, shuffle=True, random_state=0).split(x, y), 1):
    print(f"\n##### fold {k} of 5, {len(tr)} eyes for training, {len(te)} held out", flush=True)
    torch.manual_seed(k)
    net = NeuralNetClassifier(Net, criterion=nn.CrossEntropyLoss, optimizer=torch.optim.Adam, lr=4e-3, batch_size=32, max_epochs=18,
                              iterator_train__shuffle=True, callbacks=[Pace(), ("auc", EpochScoring("roc_auc", lower_is_better=False))])
    net.fit(x[tr], y[tr])
    net.save_params(f_params=f"fold{k}.pt")
    aucs.append(roc_auc_score(y[te], net.predict_proba(x[te])[:, 1]))
    print(f"fold {k}: AUC {aucs[-1]:.3f}", flush=True)
    sys.stdout.flush()
print(f"\nmean AUC {np.mean(aucs):.3f} +- {np.std(aucs):.3f}")
