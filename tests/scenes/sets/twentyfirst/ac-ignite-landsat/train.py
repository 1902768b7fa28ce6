import time

import numpy as np
import torch
import torch.nn as nn
from ignite.engine import Engine, Events
from ignite.handlers import ModelCheckpoint
from ignite.metrics import RunningAverage
from ignite.utils import setup_logger
from torch.utils.data import DataLoader, IterableDataset


class Shards(IterableDataset):
    """Reads the shards again each epoch, they do not fit into memory in the big run."""

    def __iter__(self):
        order = np.random.permutation(6)
        for k in order:
            z = np.load(f"shards/shard_{k:02d}.npz")
            x, y = z["bands"], z["ndvi"]
            for i in range(0, len(x), 16):
                yield torch.from_numpy(x[i:i + 16]), torch.from_numpy(y[i:i + 16])


torch.manual_seed(2)
np.random.seed(2)
net = nn.Sequential(nn.Linear(7, 48), nn.GELU(), nn.Linear(48, 48), nn.GELU(), nn.Linear(48, 1))
opt = torch.optim.Adam(net.parameters(), 2e-3)


def train_step(engine, batch):
    x, y = batch
    loss = ((net(x)[:, 0] - y) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.28)
    return loss.item()


trainer = Engine(train_step)
trainer.logger = setup_logger("trainer")
RunningAverage(output_transform=lambda o: o).attach(trainer, "mse")


@trainer.on(Events.ITERATION_COMPLETED(every=6))
def show(engine):
    trainer.logger.info("epoch %d iter %d mse %.4f", engine.state.epoch, engine.state.iteration, engine.state.metrics["mse"])


trainer.add_event_handler(Events.EPOCH_COMPLETED,
                          ModelCheckpoint("ckpt", "ndvi", n_saved=3, require_empty=False), {"net": net})
trainer.run(DataLoader(Shards(), batch_size=None, num_workers=1), max_epochs=12)
