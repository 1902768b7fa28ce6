import json
import logging
import os
import shutil
import sys
import time

import torch
import torch.nn as nn
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import Checkpoint, DiskSaver, EarlyStopping
from ignite.metrics import Loss

SCRATCH = sys.argv[1]
EPOCHS, ITERS = 24, 12
logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(levelname)s [%(name)s] %(message)s")
log = logging.getLogger("segment")
torch.set_num_threads(1)
torch.manual_seed(4)


class UNetish(nn.Module):
    def __init__(self, w=6):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, w, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(w, 2 * w, 3, padding=1), nn.ReLU())
        self.up = nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(2 * w, w, 3, padding=1), nn.ReLU(), nn.Conv2d(w, 1, 1))
        self.context = nn.Linear(12 * w * w, 4000)
        self.back = nn.Linear(4000, 1)

    def forward(self, x):
        h = self.down(x)
        c = self.back(self.context(nn.functional.adaptive_avg_pool2d(h, 6).flatten(1)[:, :self.context.in_features]).relu())
        return self.up(h) + c[..., None, None]


def batches(seed):
    g = torch.Generator().manual_seed(seed)
    while True:
        x = torch.randn(8, 1, 24, 24, generator=g) * 0.7
        m = torch.zeros_like(x)
        for i in range(8):
            r, c = torch.randint(0, 16, (2,), generator=g).tolist()
            m[i, 0, r:r + 8, c:c + 8] = 1
        yield x + m, m


net = UNetish()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
crit = nn.BCEWithLogitsLoss()
trainer = create_supervised_trainer(net, opt, crit)
evaluator = create_supervised_evaluator(net, {"bce": Loss(crit)})
held = [b for b, _ in zip(batches(99), range(6))]


@trainer.on(Events.ITERATION_COMPLETED)
def pace(engine):
    time.sleep(0.15)
    if engine.state.iteration % 6 == 0:
        log.info("epoch %d iteration %d bce %.4f", engine.state.epoch, engine.state.iteration, engine.state.output)


@trainer.on(Events.EPOCH_COMPLETED)
def validate(engine):
    evaluator.run(held)
    use = shutil.disk_usage(SCRATCH)
    log.info("epoch %d validation bce %.4f | scratch %d of %d MB used", engine.state.epoch,
             evaluator.state.metrics["bce"], use.used >> 20, use.total >> 20)
    with open("metrics.jsonl", "a") as f:
        f.write(json.dumps({"epoch": engine.state.epoch, **evaluator.state.metrics}) + "\n")


keep = Checkpoint({"net": net, "opt": opt}, DiskSaver(SCRATCH, require_empty=False), n_saved=2, filename_prefix="last",
                  global_step_transform=lambda *_: trainer.state.epoch)
trainer.add_event_handler(Events.EPOCH_COMPLETED, keep)
evaluator.add_event_handler(Events.COMPLETED, EarlyStopping(6, lambda e: -e.state.metrics["bce"], trainer))
trainer.run(batches(1), max_epochs=EPOCHS, epoch_length=ITERS)
shutil.copy(keep.last_checkpoint if os.path.isabs(str(keep.last_checkpoint)) else f"{SCRATCH}/{keep.last_checkpoint}", "model_final.pt")
log.info("training over after %d epochs, copied the last checkpoint to model_final.pt", trainer.state.epoch)
