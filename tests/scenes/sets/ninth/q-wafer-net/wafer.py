import time

import numpy as np
import torch
from skorch import NeuralNetClassifier
from skorch.callbacks import Callback, EpochScoring
from torch import nn


class Net(nn.Module):
    def __init__(self, width=768):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(40, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Dropout(0.2))
        self.head = nn.Linear(width, 5)

    def forward(self, x):
        return self.head(self.body(x))


class UnitStats(Callback):
    """From epoch `start` on, watch the activations of the body: how many units are never used?"""

    def __init__(self, start=6):
        self.start = start

    def on_train_begin(self, net, **kw):
        self.seen, self.hook = [], None

    def on_epoch_begin(self, net, **kw):
        if len(net.history) == self.start:
            print(f"[unit stats] collecting from epoch {self.start}", flush=True)
            self.hook = net.module_.body.register_forward_hook(lambda m, i, out: self.seen.append(out))

    def on_batch_end(self, net, training=False, **kw):
        if training:
            time.sleep(0.12)

    def on_train_end(self, net, **kw):
        used = torch.zeros(768, dtype=torch.bool)
        for out in self.seen:
            used |= (out > 0).any(0)
        print("unused units:", int((~used).sum()))
        self.hook.remove()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    r = np.random.default_rng(0)
    X = r.normal(size=(8000, 40)).astype("float32")
    y = (X[:, :10] @ r.normal(size=(10, 5)) + r.gumbel(size=(8000, 5)) * 0.8).argmax(1)
    net = NeuralNetClassifier(
        Net, criterion=nn.CrossEntropyLoss, optimizer=torch.optim.Adam, lr=1e-4, batch_size=400, max_epochs=30,
        iterator_train__shuffle=True,
        callbacks=[UnitStats(), EpochScoring("accuracy", on_train=True, name="train_acc")])
    net.fit(X, y)
    net.save_params(f_params="wafer.pt")


if __name__ == "__main__":
    main()
