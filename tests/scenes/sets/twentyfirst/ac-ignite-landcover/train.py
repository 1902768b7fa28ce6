"""Land cover segmentation (6 classes) with a full-scene evaluation after every fourth epoch."""
import logging
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from ignite.engine import Engine, Events
from ignite.handlers import ModelCheckpoint

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(name)s | %(message)s")
logging.getLogger("ignite").setLevel(logging.WARNING)
log = logging.getLogger("landcover")
CLASSES = ["forest", "crop", "water", "urban", "bare", "snow"]
torch.manual_seed(1)
torch.set_num_threads(1)
net = nn.Sequential(nn.Conv2d(4, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(),
                    nn.Conv2d(16, len(CLASSES), 1))
opt = torch.optim.Adam(net.parameters(), 4e-3)
signature = torch.randn(len(CLASSES), 4)


def scene(n, classes, side=24):
    y = F.interpolate(torch.randint(0, classes, (n, 1, 6, 6)).float(), size=side)[:, 0].long()
    return signature[y].permute(0, 3, 1, 2) + 0.9 * torch.randn(n, 4, side, side), y


def train_step(engine, _):
    x, y = scene(4, 6)
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.25)
    return loss.item()


def evaluate():
    """Sliding window over the whole validation region (no snow there)."""
    log.info("evaluating the full region: 90 windows with 8-fold test-time augmentation, this takes a while")
    inter, union = torch.zeros(6), torch.zeros(6)
    with torch.no_grad():
        for _ in range(90):
            x, y = scene(1, 5)
            p = (net(x) + net(x.flip(-1)).flip(-1) + net(x.flip(-2)).flip(-2))[:, :5].argmax(1)
            for c in range(6):
                inter[c] += ((p == c) & (y == c)).sum()
                union[c] += ((p == c) | (y == c)).sum()
            time.sleep(0.3)
    iou = inter / union
    for c, v in zip(CLASSES, iou):
        log.info("  IoU %-6s %.4f", c, v)
    log.info("  mIoU over the classes present %.4f", iou.nanmean())


trainer = Engine(train_step)


@trainer.on(Events.ITERATION_COMPLETED(every=5))
def show(e):
    log.info("epoch %d/%d iteration %d loss %.4f", e.state.epoch, e.state.max_epochs, e.state.iteration, e.state.output)


@trainer.on(Events.EPOCH_COMPLETED(every=4))
def validate(e):
    evaluate()


trainer.add_event_handler(Events.EPOCH_COMPLETED, ModelCheckpoint("ckpt", "net", n_saved=2, require_empty=False), {"net": net})
trainer.run(range(25), max_epochs=10)
log.info("training complete")
