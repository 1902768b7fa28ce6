import time, torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import ModelCheckpoint
from ignite.metrics import Accuracy, Loss
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.tensorboard import SummaryWriter
from data import make
torch.set_num_threads(1); torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(288, 2)); o = torch.optim.Adam(net.parameters(), 1e-3); ce = nn.CrossEntropyLoss()
tr = create_supervised_trainer(net, o, ce); ev = create_supervised_evaluator(net, {"acc": Accuracy(), "nll": Loss(ce)}); w = SummaryWriter("tb")
a, b = DataLoader(TensorDataset(*make(640)), 32, shuffle=True), DataLoader(TensorDataset(*make(256, 1)), 64)
@tr.on(Events.ITERATION_COMPLETED)
def _(e):
    time.sleep(.1); w.add_scalar("train/loss", e.state.output, e.state.iteration)
    if e.state.iteration % 10 == 0: print(f"Epoch[{e.state.epoch}] Iteration[{e.state.iteration}/{len(a) * e.state.max_epochs}] Loss: {e.state.output:.4f}")
@tr.on(Events.EPOCH_COMPLETED)
def _(e):
    m = ev.run(b).metrics; w.add_scalar("val/acc", m["acc"], e.state.epoch); w.flush()
    print(f"Validation Results - Epoch: {e.state.epoch}  Avg accuracy: {m['acc']:.4f} Avg loss: {m['nll']:.4f}"); print("-" * 60)
ev.add_event_handler(Events.COMPLETED, ModelCheckpoint("models", "best", n_saved=2, score_function=lambda e: e.state.metrics["acc"], score_name="acc", global_step_transform=lambda *_: tr.state.epoch, require_empty=False), {"net": net})
tr.run(a, max_epochs=10); w.close(); print("Done.")
