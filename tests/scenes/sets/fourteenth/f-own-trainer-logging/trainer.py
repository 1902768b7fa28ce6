import logging
import time
from pathlib import Path

import torch

log = logging.getLogger("trainer")


class SimpleTrainer:
    """my own trainer, used in all my projects"""

    def __init__(self, model, opt, loss_fn, out="ckpts", save_every=15):
        self.model, self.opt, self.loss_fn = model, opt, loss_fn
        self.out, self.save_every = Path(out), save_every
        self.out.mkdir(exist_ok=True)
        self.step = 0

    def save(self):
        path = self.out / f"step_{self.step:06d}.pt"
        try:
            torch.save({"model": self.model.state_dict(), "opt": self.opt.state_dict(), "step": self.step}, path)
            log.info("saved %s", path)
        except Exception as e:
            # never lose a run because of a failed save!!
            log.warning("could not save %s: %s", path, str(e).splitlines()[0])

    def fit(self, batches, epochs):
        for epoch in range(epochs):
            total = 0.0
            for i, (x, y) in enumerate(batches):
                self.opt.zero_grad()
                loss = self.loss_fn(self.model(x), y)
                loss.backward()
                self.opt.step()
                time.sleep(0.25)
                self.step += 1
                total += loss.item()
                if self.step % 5 == 0:
                    log.info("epoch %d step %d loss %.4f", epoch, self.step, total / (i + 1))
                if self.step % self.save_every == 0:
                    self.save()
