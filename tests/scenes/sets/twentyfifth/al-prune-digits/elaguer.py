"""Elagage itératif d'un lecteur de chiffres : couper, réentraîner, recommencer."""
import logging
import os
import sys
import time

import numpy as np
import torch
from skorch import NeuralNetClassifier
from skorch.callbacks import Callback
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.utils import prune

torch.set_num_threads(1)
torch.manual_seed(0)
logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger("elagage")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(64, 96), nn.Linear(96, 48), nn.Linear(48, 10)

    def forward(self, x):
        return self.c(torch.relu(self.b(torch.relu(self.a(x)))))


class Pas(Callback):
    def on_batch_end(self, net, batch=None, training=False, **kw):
        if training:
            time.sleep(0.12)


def main():
    os.makedirs("modeles", exist_ok=True)
    d = load_digits()
    x, y = (d.data / 8 - 1).astype(np.float32), d.target.astype(np.int64)
    xt, yt, xv, yv = x[:1300], y[:1300], x[1300:], y[1300:]
    net = NeuralNetClassifier(Net, criterion=nn.CrossEntropyLoss, optimizer=torch.optim.Adam, lr=2e-3, batch_size=100, train_split=None,
                              verbose=0, callbacks=[Pas()], iterator_train__shuffle=True)
    net.initialize()

    def bilan(mot):
        p = net.predict_proba(xv)
        perte = -np.log(p[np.arange(len(yv)), yv] + 1e-9).mean()
        log.info("%s  perte_val %.4f  exactitude %.3f", mot, perte, (p.argmax(1) == yv).mean())

    for e in range(10):
        net.partial_fit(xt, yt, epochs=1)
        bilan(f"dense, époque {e + 1}/10")
    for tour, part in enumerate([0.7, 0.65, 0.6, 0.4], 1):
        mods = [(m, "weight") for m in (net.module_.a, net.module_.b, net.module_.c)]
        prune.global_unstructured(mods, prune.L1Unstructured, amount=part)
        reste = np.mean([float(m.weight_mask.mean()) for m, _ in mods])
        bilan(f"tour {tour}/4 coupé, reste {100 * reste:.1f} %")
        for e in range(14):
            net.partial_fit(xt, yt, epochs=1)
            bilan(f"tour {tour}/4, époque {e + 1}/14")
        torch.save(net.module_.state_dict(), f"modeles/tour_{tour}.pt")
    log.info("terminé")


if __name__ == "__main__":
    main()
