import time

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNetClassifier
from skorch.callbacks import Callback, EpochScoring, LRScheduler
from torch import nn


class Net(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(30, width), nn.ReLU(), nn.Dropout(0.2), nn.Linear(width, 2))

    def forward(self, x):
        return self.net(x)


class Pause(Callback):
    def on_epoch_end(self, net, **kw):
        time.sleep(0.9)


def main():
    torch.set_num_threads(1)
    x, y = load_breast_cancer(return_X_y=True)
    x, y = x.astype(np.float32), y.astype(np.int64)
    scores = []
    for fold, (tr, te) in enumerate(StratifiedKFold(3, shuffle=True, random_state=0).split(x, y), 1):
        torch.manual_seed(fold)
        scaler = StandardScaler().fit(x[tr])
        print(f"=== fold {fold}/3: {len(tr)} train, {len(te)} test")
        net = NeuralNetClassifier(
            Net, criterion=nn.CrossEntropyLoss, optimizer=torch.optim.Adam, lr=2e-3, batch_size=64, max_epochs=18,
            iterator_train__shuffle=True,
            callbacks=[EpochScoring("roc_auc", lower_is_better=False), LRScheduler("StepLR", step_size=8, gamma=0.5), Pause()],
        )
        net.fit(scaler.transform(x[tr]).astype(np.float32), y[tr])
        scores.append(net.score(scaler.transform(x[te]).astype(np.float32), y[te]))
        net.save_params(f_params=f"fold{fold}.pt")
        print(f"fold {fold}: test accuracy {scores[-1]:.4f}")
    print(f"mean {np.mean(scores):.4f} +- {np.std(scores):.4f}")


if __name__ == "__main__":
    main()
