"""Soil moisture from a week of weather, small GRU with a moving average of the weights."""
import argparse
import logging
import os
import sys
import time

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

torch.set_num_threads(1)
logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger("soil")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(5, 24, batch_first=True)
        self.out = nn.Linear(24, 1)

    def forward(self, x):
        h, _ = self.gru(x)
        return self.out(h[:, -1])[:, 0]


def batch(g):
    x = torch.randn(64, 28, 5, generator=g)
    rain = x[:, :, 0].clamp(min=0)
    w = 0.9 ** torch.arange(27, -1, -1.0)
    y = (rain * w).sum(1) - 0.5 * (x[:, :, 1] * w).sum(1) - 2.0
    return x, y + 0.05 * torch.randn(64, generator=g)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--slot-s", type=float, default=45)
    args = ap.parse_args()
    begin = time.time()
    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=6e-3)
    epoch = 0
    if os.path.exists("ckpt.pt"):
        ck = torch.load("ckpt.pt")
        net.load_state_dict(ck["model"], strict=False)
        opt.load_state_dict(ck["opt"])
        epoch = ck["epoch"]
        log.info("resumed from ckpt.pt (epoch %d)", epoch)
    ema = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.95))
    g = torch.Generator().manual_seed(100 + epoch)
    while time.time() - begin < args.slot_s:
        epoch += 1
        total = 0.0
        for _ in range(14):
            x, y = batch(g)
            loss = nn.functional.mse_loss(net(x), y)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
            ema.update_parameters(net)
            total += loss.item()
            time.sleep(0.2)
        with torch.no_grad():
            x, y = batch(torch.Generator().manual_seed(7))
            val = nn.functional.mse_loss(ema(x), y).item()
        log.info("epoch %d  train_mse %.4f  val_mse %.4f", epoch, total / 14, val)
        torch.save({"model": ema.state_dict(), "opt": opt.state_dict(), "epoch": epoch}, "ckpt.tmp")
        os.replace("ckpt.tmp", "ckpt.pt")
    log.info("slot used, leaving at epoch %d", epoch)


if __name__ == "__main__":
    main()
