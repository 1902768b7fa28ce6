"""Cross validation of one candidate: fraud.py NAME HIDDEN"""
import logging
import sys
import time

import numpy as np
import torch
import torch.nn as nn
from sklearn.metrics import average_precision_score, precision_score
from sklearn.model_selection import StratifiedKFold
from skorch import NeuralNetBinaryClassifier
from skorch.callbacks import Callback, EarlyStopping

name, hidden = sys.argv[1], int(sys.argv[2])
logging.basicConfig(stream=sys.stdout, level=logging.INFO, format=f"%(asctime)s {name:>8} %(levelname)s %(message)s", datefmt="%H:%M:%S")
logging.captureWarnings(True)
log = logging.getLogger()
torch.set_num_threads(1)
torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.seq = nn.Sequential(nn.Linear(12, hidden), nn.ReLU(), nn.Dropout(0.2), nn.Linear(hidden, 1))

    def forward(self, x):
        return self.seq(x).squeeze(-1)


class Tell(Callback):
    def on_batch_end(self, net, training=False, **kw):
        if training:
            time.sleep(0.08)

    def on_epoch_end(self, net, **kw):
        h = net.history[-1]
        log.info("epoch=%d train_loss=%.4f valid_loss=%.4f", h["epoch"], h["train_loss"], h["valid_loss"])


rng = np.random.default_rng(8)
X = rng.normal(size=(900, 12)).astype("float32")
y = ((X[:, 0] * X[:, 1] + 2 * X[:, 2] - 3.0 + 0.4 * rng.normal(size=900)) > 0).astype("float32")
log.info("%d rows, %.1f %% fraud", len(y), 100 * y.mean())
scores = []
for fold, (a, b) in enumerate(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y), 1):
    net = NeuralNetBinaryClassifier(Net, max_epochs=16, lr=1e-2, optimizer=torch.optim.Adam, batch_size=48, verbose=0,
                                    callbacks=[Tell(), EarlyStopping(patience=3, sink=log.info)])
    net.fit(X[a], y[a])
    p = net.predict_proba(X[b])[:, 1]
    ap = average_precision_score(y[b], p)
    scores.append(ap)
    log.info("fold %d: average precision %.4f, precision at 0.9 %.3f", fold, ap, precision_score(y[b], p > 0.9))
log.info("candidate %s: average precision %.4f +- %.4f", name, np.mean(scores), np.std(scores))
