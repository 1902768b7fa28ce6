import io
import logging
import logging.handlers
import os
import pathlib
import time

import torch
from torch import nn

STICK = pathlib.Path("stick")
KEEP = 2
log = logging.getLogger("rover")


def logger():
    os.makedirs("logs", exist_ok=True)
    h = logging.handlers.RotatingFileHandler("logs/rover.log", maxBytes=1200, backupCount=3)
    for x in (h, logging.StreamHandler()):
        x.setFormatter(logging.Formatter("%(asctime)s rover %(levelname)s: %(message)s"))
        log.addHandler(x)
    log.setLevel(logging.INFO)


def store(model, opt, step):
    """Onto the stick of the rover, which takes 100 kB a second."""
    buf = io.BytesIO()
    torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "step": step}, buf)
    data = buf.getvalue()
    olds = sorted(STICK.glob("rover_*.pt"))
    for old in olds[:max(0, len(olds) - KEEP + 1)]:
        old.unlink()
        log.info("removed %s", old.name)
    log.info("writing rover_%05d.pt (%.2f MB) to the stick, this takes a while", step, len(data) / 1e6)
    tmp = STICK / "part"
    with tmp.open("wb") as f:
        for at in range(0, len(data), 50_000):
            f.write(data[at:at + 50_000])
            f.flush()
            time.sleep(0.5)
    tmp.rename(STICK / f"rover_{step:05d}.pt")
    log.info("written")


def main():
    logger()
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(36, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 2))
    opt = torch.optim.Adam(model.parameters(), 1e-3)
    world = torch.randn(36, 2)
    for step in range(1, 361):
        scan = torch.rand(32, 36)
        want = torch.tanh(scan @ world / 3)
        loss = nn.functional.smooth_l1_loss(model(scan), want)
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.1)
        if step % 10 == 0:
            log.info("step %d loss %.5f", step, loss.item())
        if step % 90 == 0:
            store(model, opt, step)
    log.info("trained")


if __name__ == "__main__":
    main()
