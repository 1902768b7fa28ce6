"""Street objects, per-class average precision, ignite."""
import logging
import sys
import time

import colorlog
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from ignite.engine import Engine, Events
from ignite.handlers import EarlyStopping, ModelCheckpoint, TerminateOnNan
from ignite.metrics import RunningAverage
from ignite.utils import setup_logger
from sklearn.metrics import average_precision_score
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(2)
h = colorlog.StreamHandler(sys.stdout)
h.setFormatter(colorlog.ColoredFormatter("%(log_color)s%(asctime)s %(levelname)s%(reset)s %(name)s: %(message)s"))
logging.basicConfig(level=logging.INFO, handlers=[h])
log = logging.getLogger("street")
CLASSES = ["car", "person", "truck", "bus", "tram", "bicycle"]


def crops(n, seed, classes):
    r = np.random.default_rng(seed)
    proto = np.random.default_rng(77).normal(size=(6, 1, 16, 16))
    y = r.choice(classes, n)
    x = proto[y] * 0.35 + r.normal(size=(n, 1, 16, 16))
    return TensorDataset(torch.tensor(x, dtype=torch.float32), torch.tensor(y))


train = DataLoader(crops(640, 0, [0, 1, 2, 3, 4, 5]), 32, shuffle=True)
val = DataLoader(crops(300, 1, [0, 1, 2, 3, 5]), 100)      # no tram in the validation town
net = nn.Sequential(nn.Conv2d(1, 12, 3, stride=2), nn.ReLU(), nn.Conv2d(12, 24, 3, stride=2), nn.ReLU(),
                    nn.Flatten(), nn.Dropout(0.3), nn.Linear(24 * 9, 6))
opt = torch.optim.AdamW(net.parameters(), 2e-3)


def step(engine, batch):
    net.train()
    x, y = batch
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.22)
    return loss.item()


@torch.no_grad()
def look(engine, batch):
    net.eval()
    return net(batch[0]).softmax(1), batch[1]


trainer, evaluator = Engine(step), Engine(look)
trainer.logger = setup_logger("trainer")
evaluator.logger = setup_logger("evaluator", level=logging.WARNING)
RunningAverage(output_transform=lambda v: v).attach(trainer, "loss")
trainer.add_event_handler(Events.ITERATION_COMPLETED, TerminateOnNan())
seen = []
evaluator.add_event_handler(Events.STARTED, lambda e: seen.clear())
evaluator.add_event_handler(Events.ITERATION_COMPLETED, lambda e: seen.append(e.state.output))


@evaluator.on(Events.COMPLETED)
def per_class(e):
    p, y = torch.cat([a for a, _ in seen]).numpy(), torch.cat([b for _, b in seen]).numpy()
    ap = [average_precision_score(y == k, p[:, k]) if (y == k).any() else float("nan") for k in range(6)]
    e.state.metrics["mAP"] = float(np.nanmean(ap))
    for name, a, k in zip(CLASSES, ap, range(6)):
        log.info("  AP %-8s %6.3f  (%d objects)", name, a, int((y == k).sum()))
    log.info("  mAP %.4f over %d classes", e.state.metrics["mAP"], int(np.isfinite(ap).sum()))


@trainer.on(Events.ITERATION_COMPLETED(every=5))
def tell(e):
    log.info("epoch %d iteration %d loss %.4f", e.state.epoch, e.state.iteration, e.state.metrics["loss"])


@trainer.on(Events.EPOCH_COMPLETED)
def validate(e):
    log.info("validation after epoch %d", e.state.epoch)
    evaluator.run(val)


def score(e):
    return e.state.metrics["mAP"]


evaluator.add_event_handler(Events.COMPLETED, EarlyStopping(4, score, trainer))
evaluator.add_event_handler(Events.COMPLETED, ModelCheckpoint("ckpt", "street", score_function=score, n_saved=2,
                                                             score_name="mAP", require_empty=False), {"model": net})
trainer.run(train, max_epochs=40)
log.info("best kept in ckpt/, stopped after %d epochs", trainer.state.epoch)
