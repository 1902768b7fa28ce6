import argparse
import logging
import time

import torch
import torch.nn as nn
import yaml
from ignite.engine import Engine, Events
from ignite.handlers import Checkpoint, DiskSaver
from ignite.metrics import RunningAverage


class GRUNet(nn.Module):
    def __init__(self, hidden, classes):
        super().__init__()
        self.rnn = nn.GRU(40, hidden, num_layers=2, batch_first=True)
        self.out = nn.Linear(hidden, classes)

    def forward(self, x):
        return self.out(self.rnn(x)[0][:, -1])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config")
    ap.add_argument("--ckpt-dir")
    args = ap.parse_args()
    cfg = yaml.safe_load(open(args.config))
    torch.set_num_threads(1)
    torch.manual_seed(0)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s,%(msecs)03d %(name)s %(levelname)s: %(message)s", datefmt="%F %T")
    log = logging.getLogger("kws")
    net = GRUNet(**cfg["model"])
    opt = torch.optim.AdamW(net.parameters(), lr=cfg["optim"]["lr"])
    proto = torch.randn(cfg["model"]["classes"], 1, 40)

    def data():
        while True:
            y = torch.randint(0, cfg["model"]["classes"], (cfg["train"]["batch"],))
            yield proto[y] + torch.randn(len(y), 30, 40) * 2, y

    def update(engine, batch):
        x, y = batch
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        opt.step()
        time.sleep(0.2)
        return loss.item()

    trainer = Engine(update)
    RunningAverage(output_transform=lambda o: o).attach(trainer, "loss")

    @trainer.on(Events.ITERATION_COMPLETED(every=4))
    def show(engine):
        log.info("epoch %d/%d iter %d loss %.4f", engine.state.epoch, engine.state.max_epochs,
                 engine.state.iteration, engine.state.metrics["loss"])

    saver = Checkpoint({"model": net, "optimizer": opt, "trainer": trainer},
                       DiskSaver(args.ckpt_dir, create_dir=True, require_empty=False), n_saved=None, filename_prefix="kws")
    trainer.add_event_handler(Events.EPOCH_COMPLETED(every=cfg["ckpt"]["every"]), saver)
    trainer.add_event_handler(Events.EPOCH_COMPLETED, lambda e: log.info("saved %s", saver.last_checkpoint))
    trainer.run(data(), max_epochs=cfg["train"]["epochs"], epoch_length=cfg["train"]["iters"])
    log.info("done")


if __name__ == "__main__":
    main()
