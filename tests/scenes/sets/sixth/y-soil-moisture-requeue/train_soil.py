"""Soil moisture from satellite bands, with Accelerate. In the short queue a job gets 35 s: on SIGUSR1 it saves and ends with 85."""
import logging
import os
import signal
import sys
import time

import torch
import torch.nn as nn
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)-7s soil: %(message)s")
log = logging.getLogger("soil")
TOTAL, STATE, REQUEUE = 300, "state/current", 85
asked = False


class Counter:
    step = 0

    def state_dict(self):
        return {"step": self.step}

    def load_state_dict(self, state):
        self.step = state["step"]


def on_usr1(signum, frame):
    global asked
    asked = True
    log.warning("received signal %d: allocation ends soon, will checkpoint and requeue", signum)


def bands(n=3200):
    g = torch.Generator().manual_seed(10)
    x = torch.rand(n, 13, generator=g)
    y = (2 * x[:, 3] - x[:, 7]) / (x[:, 3] + x[:, 7] + 0.1) + 0.05 * torch.randn(n, generator=g)
    return TensorDataset(x, y)


def main():
    signal.signal(signal.SIGUSR1, on_usr1)
    set_seed(6)
    acc = Accelerator(cpu=True, gradient_accumulation_steps=2)
    net = nn.Sequential(nn.Linear(13, 64), nn.SiLU(), nn.Linear(64, 1))
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    net, opt, loader = acc.prepare(net, opt, DataLoader(bands(), batch_size=64, shuffle=True))
    counter = Counter()
    acc.register_for_checkpointing(counter)
    if os.path.isdir(STATE):
        acc.load_state(STATE)
        log.info("resuming from %s at step %d", STATE, counter.step)
    while counter.step < TOTAL:
        for x, y in acc.skip_first_batches(loader, counter.step % len(loader)):
            with acc.accumulate(net):
                loss = nn.functional.mse_loss(net(x).squeeze(1), y)
                acc.backward(loss)
                opt.step()
                opt.zero_grad()
            time.sleep(0.2)
            counter.step += 1
            if counter.step % 5 == 0:
                log.info("step %d/%d loss %.5f", counter.step, TOTAL, loss.item())
            if asked or counter.step >= TOTAL:
                break
        if asked:
            break
    acc.save_state("state/new")
    os.system("rm -rf state/current && mv state/new state/current")
    if counter.step < TOTAL:
        log.warning("checkpoint at step %d written, exiting with %d for requeue", counter.step, REQUEUE)
        sys.exit(REQUEUE)
    acc.save_model(net, "model")
    log.info("training complete at step %d", counter.step)


if __name__ == "__main__":
    main()
