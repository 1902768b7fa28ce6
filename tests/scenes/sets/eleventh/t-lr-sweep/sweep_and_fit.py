"""1) learning-rate range test (Smith 2017) up to divergence, 2) fit with a third of the best rate, with skorch."""
import os
os.environ["OMP_NUM_THREADS"] = "1"
import copy, math, time
import numpy as np
import torch
from sklearn.datasets import make_regression
from skorch import NeuralNetRegressor
from skorch.callbacks import Callback, Checkpoint, EarlyStopping
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(6)
X, y = make_regression(800, 20, n_informative=12, noise=8, random_state=2)
X, y = X.astype("float32"), ((y - y.mean()) / y.std()).astype("float32")[:, None]


class MLP(nn.Module):
    def __init__(self, h=48):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(20, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, 1))

    def forward(self, x):
        return self.f(x)


def range_test(lo=1e-4, hi=50.0, n=200):
    net = MLP()
    opt = torch.optim.SGD(net.parameters(), lr=lo, momentum=0.9)
    best, avg, seen = math.inf, 0.0, []
    for i in range(n):
        lr = lo * (hi / lo) ** (i / (n - 1))
        opt.param_groups[0]["lr"] = lr
        idx = torch.randint(0, len(X), (32,)).numpy()
        loss = nn.functional.mse_loss(net(torch.as_tensor(X[idx])), torch.as_tensor(y[idx]))
        opt.zero_grad(); loss.backward(); opt.step()
        avg = 0.9 * avg + 0.1 * loss.item()
        smooth = avg / (1 - 0.9 ** (i + 1))
        best = min(best, smooth) if i > 5 else best
        seen.append((lr, smooth))
        time.sleep(0.15)
        if i % 5 == 0 or not smooth < 1e3 * best:
            print(f"range test {i:3d}  lr={lr:.3e}  loss={smooth:.4g}", flush=True)
        if i > 10 and not smooth < 1e3 * best:
            print(f"range test: stopped, loss diverged at lr={lr:.3e}", flush=True)
            break
    return min(seen[5:], key=lambda s: s[1])[0]


class Wait(Callback):
    def on_batch_end(self, net, training=False, **kw):
        time.sleep(0.06 if training else 0)


if __name__ == "__main__":
    rate = range_test() / 3
    print(f"suggested lr: {rate:.2e}")
    net = NeuralNetRegressor(MLP, max_epochs=25, lr=rate, optimizer=torch.optim.SGD, optimizer__momentum=0.9, batch_size=32, callbacks=[Wait(), EarlyStopping(patience=6, load_best=True), Checkpoint(dirname="best", load_best=True)])
    net.fit(X, y)
    print(f"R2 on all data: {net.score(X, y):.3f}")
