import time

import numpy as np
import torch
from skorch import NeuralNetRegressor
from skorch.callbacks import Callback, Checkpoint, EarlyStopping, LRScheduler
from sklearn.datasets import make_friedman1
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn


class MLP(nn.Module):
    def __init__(self, hidden=128):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, X):
        return self.net(X)


class Pace(Callback):
    def on_batch_end(self, net, training=False, **kw):
        time.sleep(0.13 if training else 0.03)


def main():
    torch.manual_seed(3)
    torch.set_num_threads(1)
    X, y = make_friedman1(420, noise=2.0, random_state=1)
    X, y = X.astype("float32"), ((y - y.mean()) / y.std()).astype("float32")[:, None]
    Xa, Xb, ya, yb = train_test_split(X, y, test_size=0.2, random_state=0)
    net = NeuralNetRegressor(
        MLP, optimizer=torch.optim.Adam, lr=3e-3, batch_size=32, max_epochs=200, iterator_train__shuffle=True,
        callbacks=[Pace(), ("lr", LRScheduler("StepLR", step_size=30, gamma=0.5)),
                   ("best", Checkpoint(dirname="best", load_best=True)), ("stop", EarlyStopping(patience=12))])
    pipe = make_pipeline(StandardScaler(), net)
    pipe.fit(Xa, ya)
    print(f"R2 on the held-out plots: {pipe.score(Xb, yb):.3f}", flush=True)
    net.save_params(f_params="yield.pt")


if __name__ == "__main__":
    main()
