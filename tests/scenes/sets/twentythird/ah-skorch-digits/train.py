# 手書き数字の分類(skorch)
import time

import numpy as np
import torch
from sklearn.datasets import load_digits
from skorch import NeuralNetClassifier
from skorch.callbacks import Callback, Checkpoint, EpochScoring, LRScheduler
from torch import nn

torch.manual_seed(0)
np.random.seed(0)
torch.set_num_threads(1)
d = load_digits()
x = (d.images[:, None] / 16).astype(np.float32)
y = d.target.astype(np.int64)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(12, 24, 3), nn.ReLU(),
                               nn.Flatten(), nn.Linear(96, 48), nn.ReLU(), nn.Linear(48, 10))

    def forward(self, x):
        return self.f(x)


class Pace(Callback):
    def on_batch_end(self, net, training=False, **kw):
        if training:
            time.sleep(0.09)


net = NeuralNetClassifier(
    Net, criterion=nn.CrossEntropyLoss, optimizer=torch.optim.Adam, lr=1e-3, batch_size=128, max_epochs=90, device="cpu",
    callbacks=[("acc", EpochScoring("accuracy", on_train=True, name="train_acc", lower_is_better=False)),
               ("sched", LRScheduler(policy="StepLR", step_size=22, gamma=10)),
               ("ckpt", Checkpoint(dirname="model", monitor=lambda n: n.history[-1]["epoch"] % 10 == 0)),
               ("pace", Pace())])
print("データ件数:", len(x), " クラス数: 10  エポック数: 90", flush=True)
net.fit(x, y)
print("完了", flush=True)
