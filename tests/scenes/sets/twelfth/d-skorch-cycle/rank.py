import time, numpy as np, torch
from torch import nn
from skorch import NeuralNetClassifier
from skorch.callbacks import Callback, Checkpoint, EarlyStopping, EpochScoring, LRScheduler
torch.set_num_threads(1); torch.manual_seed(0); r = np.random.default_rng(9)
X = r.normal(size=(1500, 20)).astype("float32"); y = (X[:, 0] + X[:, 1] * X[:, 2] + r.normal(0, .8, 1500) > 0).astype("int64")
class Pace(Callback):
    def on_batch_end(self, net, **kw): time.sleep(.12)
net = NeuralNetClassifier(nn.Sequential(nn.Linear(20, 48), nn.ReLU(), nn.Dropout(.2), nn.Linear(48, 2)), criterion=nn.CrossEntropyLoss, max_epochs=60, lr=.05, batch_size=128,
    callbacks=[Pace(), LRScheduler("CyclicLR", base_lr=.02, max_lr=.8, step_size_up=30, step_every="batch"), EpochScoring("roc_auc", lower_is_better=False),
               Checkpoint(dirname="ck", monitor="valid_loss_best"), EarlyStopping(patience=12, load_best=True)])
net.fit(X, y); print("best valid_loss", min(net.history[:, "valid_loss"]))
