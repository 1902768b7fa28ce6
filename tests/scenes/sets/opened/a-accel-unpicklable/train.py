"""Accelerate with a curriculum object in the checkpoint."""
import logging
import time

import torch
import torch.nn as nn
from accelerate import Accelerator
from accelerate.utils import set_seed

logging.basicConfig(level=logging.INFO, format="%(asctime)s - %(levelname)s - %(name)s - %(message)s")
log = logging.getLogger(__name__)


class Curriculum:
    def __init__(self, ramp, cap):
        self.ramp, self.cap, self.step = ramp, cap, 0

    def noise(self):
        self.step += 1
        return min(self.cap, self.ramp(self.step))

    def state_dict(self):
        return dict(self.__dict__)

    def load_state_dict(self, state):
        self.__dict__.update(state)


def make_curriculum(total):
    return Curriculum(ramp=lambda s: 1.5 * s / total, cap=1.0)


def main():
    set_seed(4)
    acc = Accelerator(cpu=True)
    total = 600
    net = nn.Sequential(nn.Linear(32, 96), nn.ReLU(), nn.Linear(96, 32))
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, total)
    net, opt, sched = acc.prepare(net, opt, sched)
    cur = make_curriculum(total)
    acc.register_for_checkpointing(cur)
    base = torch.randn(8, 32)
    log.info("***** Running training *****")
    log.info("  Total optimization steps = %d", total)
    for step in range(1, total + 1):
        clean = torch.randn(64, 8) @ base
        loss = (net(clean + cur.noise() * torch.randn_like(clean)) - clean).pow(2).mean()
        acc.backward(loss)
        acc.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        sched.step()
        opt.zero_grad()
        time.sleep(0.18)
        if step % 15 == 0:
            log.info("step %d loss %.5f lr %.3e", step, loss.item(), sched.get_last_lr()[0])
        if step % 150 == 0:
            log.info("saving state of step %d", step)
            acc.save_state(f"ckpt/step_{step}")
            log.info("saved state of step %d", step)


if __name__ == "__main__":
    main()
