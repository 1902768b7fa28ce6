import argparse
import os
import time

import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import Checkpoint, DiskSaver, global_step_from_engine
from ignite.metrics import Accuracy, Loss
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

p = argparse.ArgumentParser()
p.add_argument("--run", required=True)
p.add_argument("--epochs", type=int, default=24)
a = p.parse_args()
torch.set_num_threads(1)
open("train.pid", "w").write(str(os.getpid()))

g = torch.Generator().manual_seed(2)
x = torch.randn(900, 1, 12, 12, generator=g)
y = ((x[:, 0, :6].mean((1, 2)) > x[:, 0, 6:].mean((1, 2))).long() + 2 * (x[:, 0, :, :6].mean((1, 2)) > 0).long())
tr = DataLoader(TensorDataset(x[:640], y[:640]), batch_size=32, shuffle=True)
va = DataLoader(TensorDataset(x[640:], y[640:]), batch_size=128)
net = nn.Sequential(nn.Conv2d(1, 12, 3), nn.ReLU(), nn.Conv2d(12, 24, 3), nn.ReLU(), nn.Flatten(), nn.Linear(24 * 64, 4))
opt = torch.optim.SGD(net.parameters(), lr=0.003, momentum=0.9, weight_decay=1e-3)
crit = nn.CrossEntropyLoss()
trainer = create_supervised_trainer(net, opt, crit)
evaluator = create_supervised_evaluator(net, {"acc": Accuracy(), "nll": Loss(crit)})
saver = Checkpoint({"net": net, "opt": opt, "trainer": trainer}, DiskSaver(a.run, create_dir=True, require_empty=False),
                   n_saved=2, global_step_transform=global_step_from_engine(trainer))
trainer.add_event_handler(Events.EPOCH_COMPLETED(every=2), saver)


@trainer.on(Events.ITERATION_COMPLETED)
def pace(e):
    time.sleep(0.2)


@trainer.on(Events.EPOCH_COMPLETED)
def report(e):
    m = evaluator.run(va).metrics
    print(f"Epoch[{e.state.epoch}/{a.epochs}] train loss {e.state.output:.4f} | val nll {m['nll']:.4f} acc {m['acc']:.4f}",
          flush=True)


last = sorted((f for f in os.listdir(a.run) if f.endswith(".pt")), key=lambda f: os.path.getmtime(f"{a.run}/{f}")) \
    if os.path.isdir(a.run) else []
if last:
    Checkpoint.load_objects({"net": net, "opt": opt, "trainer": trainer}, torch.load(f"{a.run}/{last[-1]}"))
    print(f"resuming from {a.run}/{last[-1]}", flush=True)
else:
    print(f"no checkpoint in {a.run}, training from scratch", flush=True)
trainer.run(tr, max_epochs=a.epochs)
