"""Day-ahead load of the grid with skorch."""
import time, numpy as np, torch
from torch import nn
from skorch import NeuralNetRegressor
from skorch.callbacks import Callback, LRScheduler
torch.set_num_threads(1); torch.manual_seed(0)
r = np.random.default_rng(2); t = np.arange(2400)
load = 3 + np.sin(t * 6.283 / 24) + .4 * np.sin(t * 6.283 / 168) + r.normal(0, .15, len(t))
X = np.stack([load[i:i - 48] for i in range(48)], 1).astype("float32"); y = load[48:, None].astype("float32")

class Pace(Callback):
    lr = None
    def on_epoch_begin(self, net, **kw):
        lr = net.optimizer_.param_groups[0]["lr"]
        if lr != self.lr: print(f"lr={lr:.0e}", flush=True)
        self.lr = lr; time.sleep(.9)

net = NeuralNetRegressor(
    nn.Linear(48, 1), max_epochs=200, lr=1e-4, batch_size=64,
    optimizer=torch.optim.SGD, optimizer__momentum=.9,
    callbacks=[Pace(), LRScheduler("MultiStepLR", milestones=[12, 25, 50], gamma=10)])
net.fit(X, y)
net.save_params(f_params="load.pt"); print("saved load.pt")
