"""Demand per store and week with skorch."""
import logging
import sys
import time
import tomllib

import numpy as np
import torch
import torch.nn as nn
from skorch import NeuralNetRegressor
from skorch.callbacks import Callback, Checkpoint, LRScheduler
from torch.optim.lr_scheduler import StepLR

log = logging.getLogger("demand")


class Net(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.seq = nn.Sequential(nn.Linear(20, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, x):
        return self.seq(x)


class Pace(Callback):
    def on_batch_end(self, net, training=False, **kw):
        if training:
            time.sleep(0.12)


class Report(Callback):
    def on_epoch_end(self, net, **kw):
        h = net.history[-1]
        log.info("epoch %d | train_loss %.5f | valid_loss %.5f | lr %.1e | dur %.1fs", h["epoch"], h["train_loss"],
                 h["valid_loss"], net.optimizer_.param_groups[0]["lr"], h["dur"])


def main():
    logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(levelname).1s %(asctime)s %(name)s] %(message)s")
    cfg = tomllib.load(open("settings.toml", "rb"))
    torch.manual_seed(1)
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 20)).astype("float32")
    y = (np.sin(X[:, :1]) + 0.5 * X[:, 1:2] * X[:, 2:3] + 0.1 * rng.normal(size=(400, 1))).astype("float32")
    log.info("rows %d, features %d, settings %s", *X.shape, cfg)
    fit = cfg["fit"]
    net = NeuralNetRegressor(Net, module__hidden=cfg["net"]["hidden"], max_epochs=fit["epochs"], lr=fit["lr"],
                             optimizer=torch.optim.Adam, batch_size=32, verbose=0,
                             callbacks=[Pace(), LRScheduler(StepLR, step_size=fit["step_size"], gamma=fit["gamma"]),
                                        Checkpoint(dirname="best", monitor="valid_loss_best"), Report()])
    net.fit(X, y)
    log.info("done, best valid_loss %.5f", min(net.history[:, "valid_loss"]))


if __name__ == "__main__":
    main()
