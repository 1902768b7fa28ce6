"""Leaf classifier on streamed shards, pytorch-ignite."""
import logging
import time

import torch
from ignite.engine import Engine, Events
from ignite.handlers import Checkpoint, DiskSaver, global_step_from_engine
from ignite.metrics import RunningAverage
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")
logging.getLogger("ignite").setLevel(logging.WARNING)
log = logging.getLogger("leaf")
torch.manual_seed(2)
torch.set_num_threads(1)
MAX_EPOCHS, EPOCH_LENGTH, BATCH = 40, 12, 32
SHARDS = 37
centers = torch.randn(6, 24)


def stream():
    # one pass over the shards of the bucket
    for k in range(SHARDS):
        g = torch.Generator().manual_seed(k)
        y = torch.randint(0, 6, (BATCH * 5,), generator=g)
        x = centers[y] + 1.4 * torch.randn(len(y), 24, generator=g)
        for i in range(0, len(y), BATCH):
            yield x[i:i + BATCH], y[i:i + BATCH]


net = nn.Sequential(nn.Linear(24, 48), nn.GELU(), nn.Linear(48, 6))
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)


def step(engine, batch):
    x, y = batch
    out = net(x)
    loss = nn.functional.cross_entropy(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.33)
    return {"loss": loss.item(), "acc": (out.argmax(1) == y).float().mean().item()}


trainer = Engine(step)
RunningAverage(output_transform=lambda o: o["loss"]).attach(trainer, "loss")
RunningAverage(output_transform=lambda o: o["acc"]).attach(trainer, "acc")
trainer.add_event_handler(Events.EPOCH_COMPLETED(every=4), Checkpoint(
    {"net": net, "opt": opt}, DiskSaver("ckpt", require_empty=False), n_saved=2,
    global_step_transform=global_step_from_engine(trainer)))


@trainer.on(Events.ITERATION_COMPLETED(every=6))
def say(e):
    log.info("epoch %d/%d iter %d loss %.4f acc %.3f", e.state.epoch, MAX_EPOCHS, e.state.iteration,
             e.state.metrics["loss"], e.state.metrics["acc"])


log.info("training for %d epochs of %d iterations", MAX_EPOCHS, EPOCH_LENGTH)
trainer.run(stream(), max_epochs=MAX_EPOCHS, epoch_length=EPOCH_LENGTH)
torch.save(net.state_dict(), "final.pt")
log.info("saved final.pt")
