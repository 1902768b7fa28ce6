import logging
import queue
import threading
import time
import warnings
from pathlib import Path

import torch
from lightning.fabric import Fabric
from torch import nn

warnings.filterwarnings("ignore")
logging.basicConfig(format="%(asctime)s | %(levelname)-7s | %(message)s", level=logging.INFO, datefmt="%Y-%m-%d %H:%M:%S")
log = logging.getLogger("pretrain")
ARCHIVE = Path("store/archive/mae-small")
STEPS, SAVE_EVERY = 900, 40


class Writer(threading.Thread):
    """Writes checkpoints in the background so that the steps need not wait for the store."""

    def __init__(self):
        super().__init__(name="ckpt-writer", daemon=True)
        self.todo = queue.Queue()

    def run(self):
        while True:
            step, state = self.todo.get()
            path = ARCHIVE / f"step-{step:06d}.pt"
            torch.save(state, path)
            log.info("checkpoint %s written (%.0f kB)", path.name, path.stat().st_size / 1e3)
            for old in sorted(ARCHIVE.glob("step-*.pt"))[:-4]:
                old.unlink()


class MAE(nn.Module):
    def __init__(self, d=96):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(64, d), nn.GELU(), nn.Linear(d, d), nn.GELU())
        self.dec = nn.Linear(d, 64)

    def forward(self, x, mask):
        return self.dec(self.enc(x * mask))


def main():
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=1)
    fabric.seed_everything(12, verbose=False)
    model = MAE()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model, opt = fabric.setup(model, opt)
    basis = torch.randn(12, 64)
    ARCHIVE.mkdir(parents=True, exist_ok=True)
    writer = Writer()
    writer.start()
    log.info("pretraining, %d steps, checkpoints every %d steps to %s", STEPS, SAVE_EVERY, ARCHIVE)
    for step in range(1, STEPS + 1):
        x = torch.randn(64, 12) @ basis / 3
        mask = (torch.rand_like(x) > 0.5).float()
        loss = ((model(x, mask) - x) ** 2 * (1 - mask)).sum() / (1 - mask).sum()
        opt.zero_grad()
        fabric.backward(loss)
        opt.step()
        time.sleep(0.1)
        if step % 20 == 0:
            log.info("step %d/%d loss %.4f", step, STEPS, loss.item())
        if step % SAVE_EVERY == 0:
            state = {k: v.clone() for k, v in model.state_dict().items()}
            writer.todo.put((step, {"step": step, "model": state, "optimizer": opt.state_dict()}))
    log.info("pretraining finished after %d steps", STEPS)


if __name__ == "__main__":
    main()
