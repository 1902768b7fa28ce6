import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from ignite.engine import Engine, Events
from ignite.handlers import ModelCheckpoint
from ignite.metrics import RunningAverage
from ignite.utils import setup_logger
from torch.utils.data import DataLoader, TensorDataset


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Flatten(), nn.Linear(192, 64), nn.ReLU())
        self.neck = nn.Sequential(nn.Linear(64, 32), nn.BatchNorm1d(32))

    def forward(self, x):
        return F.normalize(self.neck(self.trunk(x)))


def load_ids(path="people.txt"):
    """one identity per line, number of photos after the colon"""
    xs, ys = [], []
    for k, line in enumerate(open(path)):
        n = int(line.split(":")[1])
        g = torch.Generator().manual_seed(k)
        base = torch.randn(3, 8, 8, generator=g)
        xs.append(base + 0.8 * torch.randn(n, 3, 8, 8, generator=g))
        ys += [k] * n
    return torch.cat(xs), torch.tensor(ys)


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    logger = setup_logger("trainer")
    x, y = load_ids()
    logger.info(f"{len(x)} crops of {int(y.max()) + 1} people")
    loader = DataLoader(TensorDataset(x, y), batch_size=12, shuffle=True)
    model, proxies = Embedder(), nn.Parameter(F.normalize(torch.randn(int(y.max()) + 1, 32)))
    opt = torch.optim.Adam([*model.parameters(), proxies], lr=2e-3)

    def step(engine, batch):
        model.train()
        a, b = batch
        loss = F.cross_entropy(12 * model(a) @ F.normalize(proxies).T, b)
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.35)
        return loss.item()

    trainer = Engine(step)
    trainer.logger = setup_logger("ignite.engine.Engine")
    RunningAverage(output_transform=lambda v: v).attach(trainer, "loss")
    ckpt = ModelCheckpoint("models", "reid", n_saved=2, require_empty=False)
    trainer.add_event_handler(Events.EPOCH_COMPLETED, ckpt, {"model": model})

    @trainer.on(Events.ITERATION_COMPLETED(every=5))
    def show(engine):
        s = engine.state
        logger.info(f"Epoch[{s.epoch}] Iteration[{s.iteration}/{s.max_epochs * s.epoch_length}] Loss: {s.metrics['loss']:.4f} lr: {opt.param_groups[0]['lr']:.2e}")

    trainer.run(loader, max_epochs=10)


main()
