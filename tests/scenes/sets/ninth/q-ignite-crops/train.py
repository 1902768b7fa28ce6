import logging
import time
import urllib.request
from pathlib import Path

import numpy as np
import torch
from ignite.engine import Engine, Events
from ignite.handlers import ModelCheckpoint
from ignite.metrics import RunningAverage
from torch import nn

logging.basicConfig(level=logging.INFO, format="[%(asctime)s][%(levelname)s] %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger("crops")
torch.set_num_threads(1)
torch.manual_seed(0)
while not Path("gateway.port").exists():
    time.sleep(0.2)
BASE = f"http://127.0.0.1:{Path('gateway.port').read_text()}/crops/"


def batches(n):
    for i in range(n):
        t = time.time()
        raw = urllib.request.urlopen(BASE + str(i)).read()
        y = torch.from_numpy(np.frombuffer(raw[:256], "i8").copy())
        x = torch.from_numpy(np.frombuffer(raw[256:], "f4").reshape(32, 4, 24, 24).copy())
        yield x, y, time.time() - t


model = nn.Sequential(nn.Conv2d(4, 8, 3, 2), nn.ReLU(), nn.Conv2d(8, 16, 3, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 4))
opt = torch.optim.Adam(model.parameters(), lr=2e-3)


def step(engine, batch):
    x, y, wait = batch
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.06)
    return {"loss": loss.item(), "wait": wait}


trainer = Engine(step)
RunningAverage(output_transform=lambda o: o["loss"]).attach(trainer, "loss")
RunningAverage(output_transform=lambda o: o["wait"], alpha=0.7).attach(trainer, "wait")
clock = {"t": time.time()}


@trainer.on(Events.ITERATION_COMPLETED(every=10))
def report(e):
    now = time.time()
    log.info("iter %d/%d loss %.4f %.2f s/it (data %.2f s)", e.state.iteration, e.state.max_iters or e.state.epoch_length,
             e.state.metrics["loss"], (now - clock["t"]) / 10, e.state.metrics["wait"])
    clock["t"] = now


trainer.add_event_handler(Events.ITERATION_COMPLETED(every=100), ModelCheckpoint("ckpt", "crops", n_saved=2), {"model": model})
N = 900
log.info("crops from %s, %d batches", BASE, N)
trainer.run(batches(N), max_epochs=1, epoch_length=N)
log.info("training finished")
