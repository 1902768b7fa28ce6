"""Road segmentation. Slots on this box are short: the launcher sends SIGTERM at the end of the slot, we save and go."""
import logging
import os
import signal
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import lightning as L
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s | %(levelname)-7s | %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger("seg")
stop = False


def on_term(signum, frame):
    global stop
    stop = True
    log.warning("received SIGTERM (signal %d), end of the slot: saving and leaving after this step", signum)


def main():
    signal.signal(signal.SIGTERM, on_term)
    fabric = L.Fabric(accelerator="cpu", devices=1)
    fabric.seed_everything(12)
    torch.set_num_threads(1)
    x = torch.randn(1600, 3, 24, 24)
    y = (nn.functional.avg_pool2d(x[:, :1] + x[:, 1:2], 5, 1, 2) > 0).float()
    data = fabric.setup_dataloaders(DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True))
    net = nn.Sequential(nn.Conv2d(3, 12, 5, padding=2), nn.ReLU(), nn.Conv2d(12, 1, 3, padding=1))
    opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
    net, opt = fabric.setup(net, opt)
    state = {"net": net, "opt": opt, "step": 0}
    if os.path.exists("slot.ckpt"):
        fabric.load("slot.ckpt", state)
        log.info("continuing from slot.ckpt at step %d", state["step"])
    planned = 20000
    log.info("planned steps: %d (many slots), this slot: until SIGTERM", planned)
    while state["step"] < planned:
        for a, b in data:
            loss = nn.functional.binary_cross_entropy_with_logits(net(a), b)
            opt.zero_grad()
            fabric.backward(loss)
            opt.step()
            state["step"] += 1
            if state["step"] % 20 == 0:
                log.info("step %d/%d bce %.4f", state["step"], planned, loss.item())
            time.sleep(0.15)
            if stop:
                fabric.save("slot.ckpt", state)
                log.info("saved slot.ckpt at step %d, the next slot continues here", state["step"])
                return


if __name__ == "__main__":
    main()
