import logging
import time

import torch
from accelerate import Accelerator
from accelerate.utils import ProjectConfiguration, set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

logging.basicConfig(format="%(asctime)s - %(levelname)s - %(name)s - %(message)s", level=logging.INFO)
log = logging.getLogger("finetune_leaf")

SAVE_EVERY = 25
EPOCHS = 6


class SlowSet(TensorDataset):
    def __getitem__(self, i):
        time.sleep(0.006)
        return super().__getitem__(i)


def main():
    set_seed(3)
    acc = Accelerator(cpu=True, project_config=ProjectConfiguration(
        project_dir="scratch/leaf", automatic_checkpoint_naming=True))
    g = torch.Generator().manual_seed(1)
    x = torch.randn(1600, 3, 16, 16, generator=g)
    y = (x[:, 0].mean((1, 2)) > 0).long() + 2 * (x[:, 1].mean((1, 2)) > 0).long()
    model = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(512, 400), nn.ReLU(), nn.Linear(400, 4))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model, opt, dl = acc.prepare(model, opt, DataLoader(SlowSet(x, y), batch_size=32, shuffle=True))
    log.info("***** Running training *****")
    log.info("  Num examples = %d", len(x))
    log.info("  Num Epochs = %d", EPOCHS)
    log.info("  Total optimization steps = %d", EPOCHS * len(dl))
    step = 0
    for epoch in range(EPOCHS):
        for xb, yb in dl:
            loss = nn.functional.cross_entropy(model(xb), yb)
            acc.backward(loss)
            opt.step()
            opt.zero_grad()
            step += 1
            if step % 10 == 0:
                log.info("epoch %d global step %d: train_loss=%.4f", epoch, step, loss.item())
            if step % SAVE_EVERY == 0:
                acc.save_state()
                log.info("saved state at global step %d", step)
    acc.wait_for_everyone()
    acc.save_model(model, "scratch/leaf/final")
    log.info("done")


if __name__ == "__main__":
    main()
