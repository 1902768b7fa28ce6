"""Invoice line tagger with ignite. The layout parser keeps every page it has seen, so when the process is above its
soft limit it saves, executes itself anew (same pid) and goes on where it was."""
import logging
import os
import sys
import time

import psutil
import torch
import torch.nn as nn
import torch.nn.functional as F
from ignite.engine import Engine, Events
from ignite.metrics import RunningAverage

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s: %(message)s")
log = logging.getLogger("invoices")
EPOCHS, PER_EPOCH, ROOM_MB, STATE = 6, 40, 70, "state.pt"
TAGS, VOCAB, LINE, BATCH = 12, 360, 18, 32


class LayoutParser:
    """Stands for the closed library: pages stay in its arena until the process ends."""

    def __init__(self):
        self.arena = []

    def parse(self, gen):
        y = torch.randint(0, TAGS, (BATCH,), generator=gen)
        x = torch.randint(0, VOCAB, (BATCH, LINE), generator=gen)
        x = torch.where(torch.rand(x.shape, generator=gen) < 0.3, y[:, None] * 30 + x % 30, x)
        self.arena.append(x.numpy().tobytes() * 256)
        return x, y


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Sequential(nn.EmbeddingBag(VOCAB, 64), nn.Linear(64, 96), nn.ReLU(), nn.Dropout(0.1), nn.Linear(96, TAGS))
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    parser, proc = LayoutParser(), psutil.Process()

    def update(engine, _):
        gen = torch.Generator().manual_seed(engine.state.iteration)
        x, y = parser.parse(gen)
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.3)
        return loss.item()

    trainer = Engine(update)
    RunningAverage(output_transform=lambda v: v, alpha=0.9).attach(trainer, "loss")
    if os.path.exists(STATE):
        saved = torch.load(STATE)
        model.load_state_dict(saved["model"])
        opt.load_state_dict(saved["opt"])
        trainer.load_state_dict(saved["trainer"])
        log.info("resumed after iteration %d", saved["trainer"]["iteration"])
    limit = None

    @trainer.on(Events.ITERATION_COMPLETED)
    def set_limit(engine):
        nonlocal limit
        if limit is None:                       # all libraries are loaded now
            limit = proc.memory_info().rss + ROOM_MB * 2**20
            log.info("pid %d, soft limit %d MB", os.getpid(), limit >> 20)

    @trainer.on(Events.ITERATION_COMPLETED(every=10))
    def report(engine):
        log.info("epoch %d iteration %d/%d loss %.4f rss %d MB", engine.state.epoch, engine.state.iteration,
                 EPOCHS * PER_EPOCH, engine.state.metrics["loss"], proc.memory_info().rss >> 20)

    @trainer.on(Events.EPOCH_COMPLETED)
    def save_and_look(engine):
        torch.save({"model": model.state_dict(), "opt": opt.state_dict(),
                    "trainer": {"iteration": engine.state.iteration, "max_epochs": EPOCHS,
                                "epoch_length": PER_EPOCH}}, STATE + ".tmp")
        os.replace(STATE + ".tmp", STATE)
        gen = torch.Generator().manual_seed(10**6)
        model.eval()
        with torch.no_grad():
            x, y = LayoutParser().parse(gen)
            acc = (model(x).argmax(1) == y).float().mean().item()
        model.train()
        log.info("epoch %d saved, val_acc %.3f", engine.state.epoch, acc)
        if proc.memory_info().rss > limit and engine.state.epoch < EPOCHS:
            log.warning("rss %d MB is above the soft limit, executing anew", proc.memory_info().rss >> 20)
            sys.stdout.flush()
            os.execv(sys.executable, [sys.executable] + sys.argv)

    trainer.run(range(PER_EPOCH), max_epochs=EPOCHS, epoch_length=PER_EPOCH)
    log.info("finished")


if __name__ == "__main__":
    main()
