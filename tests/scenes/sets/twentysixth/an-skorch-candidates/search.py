"""Random search over a small conv net (skorch in scikit-learn's RandomizedSearchCV)."""
import time

import joblib
import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from sklearn.model_selection import RandomizedSearchCV
from skorch import NeuralNetClassifier
from skorch.callbacks import Callback, EarlyStopping

torch.set_num_threads(1)
torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self, width=8, kernel=3, depth=1, dropout=0.2):
        super().__init__()
        layers, c = [], 1
        for _ in range(depth):
            layers += [nn.Conv2d(c, width, kernel), nn.ReLU()]
            c = width
        self.body = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Dropout(dropout))
        self.head = nn.Linear(4 * width, 10)

    def forward(self, x):
        return self.head(self.body(x))


class Breathe(Callback):
    def on_batch_end(self, net, training=False, **kw):
        if training:
            time.sleep(0.05)


d = load_digits()
X, y = d.images[:, None].astype(np.float32) / 16, d.target.astype(np.int64)
net = NeuralNetClassifier(Net, criterion=nn.CrossEntropyLoss, optimizer=torch.optim.Adam, lr=5e-3, max_epochs=6,
                          batch_size=64, callbacks=[("breathe", Breathe()), ("stop", EarlyStopping(patience=3))])
space = {"module__width": [6, 10, 16], "module__kernel": [3, 5], "module__depth": [1, 2], "lr": [2e-3, 5e-3, 1e-2]}
rs = RandomizedSearchCV(net, space, n_iter=8, cv=2, scoring="accuracy", random_state=5, verbose=3, refit=True)
rs.fit(X, y)
res = rs.cv_results_
for i in np.argsort(res["rank_test_score"]):
    print(f"rank {res['rank_test_score'][i]} accuracy {res['mean_test_score'][i]:.4f} {res['params'][i]}")
print(f"best {rs.best_score_:.4f} {rs.best_params_}")
joblib.dump(rs.best_params_, "best_params.joblib")
