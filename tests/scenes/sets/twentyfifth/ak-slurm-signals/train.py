"""Dialogue act tagger with accelerate on a shared partition: listens to the scheduler's signals."""
import logging
import os
import signal
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("tagger")
pending = []


def on_signal(num, frame):
    pending.append(signal.Signals(num).name)


def main():
    signal.signal(signal.SIGUSR1, on_signal)
    signal.signal(signal.SIGHUP, on_signal)
    signal.signal(signal.SIGCONT, on_signal)
    with open("train.pid", "w") as f:
        f.write(str(os.getpid()))
    torch.manual_seed(0)
    torch.set_num_threads(1)
    acc = Accelerator(cpu=True)
    emb = nn.EmbeddingBag(400, 64)
    model = nn.Sequential(emb, nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 20))
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    model, opt = acc.prepare(model, opt)
    gen = torch.Generator().manual_seed(4)
    steps = 300
    for step in range(1, steps + 1):
        y = torch.randint(0, 20, (32,), generator=gen)
        x = torch.randint(0, 400, (32, 14), generator=gen)
        x = torch.where(torch.rand(32, 14, generator=gen) < 0.3, y[:, None] * 20 + x % 20, x)
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        acc.backward(loss)
        opt.step()
        time.sleep(0.3)
        if step % 10 == 0:
            log.info("step %d/%d loss %.4f", step, steps, loss.item())
        while pending:
            name = pending.pop(0)
            log.warning("got signal %s from the scheduler at step %d, saving state and carrying on", name, step)
            acc.save_state("state")
        if step % 50 == 0:
            acc.save_state("state")
            log.info("state saved")
    acc.save_model(model, "final")
    log.info("training finished")


if __name__ == "__main__":
    main()
