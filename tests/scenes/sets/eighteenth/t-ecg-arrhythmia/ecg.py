import sys
import time

import numpy as np
import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.metrics import Accuracy, Loss
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2)
torch.set_num_threads(1)
rng = np.random.default_rng(2)


def beats(n):
    t = np.linspace(0, 1, 96)
    y = rng.integers(0, 2, n)
    x = np.exp(-((t - 0.4) ** 2) / 0.0012) * np.where(y, 0.75, 1.1)[:, None]
    x += 0.25 * np.exp(-((t - np.where(y, 0.74, 0.66)[:, None]) ** 2) / 0.004)
    return torch.tensor(x + rng.normal(0, 0.25, x.shape), dtype=torch.float32)[:, None], torch.tensor(y)


model = nn.Sequential(
    nn.Conv1d(1, 16, 7, 2), nn.ReLU(), nn.Conv1d(16, 16, 5, 2), nn.ReLU(), nn.AdaptiveAvgPool1d(6), nn.Flatten(),
    nn.Linear(96, 32), nn.ReLU(), nn.Linear(32, 2))
train = DataLoader(TensorDataset(*beats(800)), 16, shuffle=True)
val = DataLoader(TensorDataset(*beats(300)), 100)
opt = torch.optim.SGD(model.parameters(), lr=float(sys.argv[1]), momentum=0.9)
EPOCHS = 30
sched = torch.optim.lr_scheduler.MultiStepLR(opt, milestones=[13 * len(train), 24 * len(train)], gamma=float(sys.argv[2]))
ce = nn.CrossEntropyLoss()
trainer = create_supervised_trainer(model, opt, ce)
evaluator = create_supervised_evaluator(model, {"acc": Accuracy(), "bce": Loss(ce)})


@trainer.on(Events.ITERATION_COMPLETED)
def after_step(engine):
    sched.step()
    time.sleep(0.03)


@trainer.on(Events.EPOCH_STARTED)
def start(engine):
    engine.state.losses = []


@trainer.on(Events.ITERATION_COMPLETED)
def keep(engine):
    engine.state.losses.append(engine.state.output)


@trainer.on(Events.EPOCH_COMPLETED)
def report(engine):
    m = evaluator.run(val).metrics
    print(f"Epoch {engine.state.epoch:02d}/{EPOCHS}  lr {opt.param_groups[0]['lr']:.5f}  train loss {np.mean(engine.state.losses):.4f}"
          f"  val loss {m['bce']:.4f}  val acc {m['acc']:.3f}", flush=True)
    torch.save(model.state_dict(), "ecg_last.pt")


trainer.run(train, max_epochs=EPOCHS)
