"""Day-ahead price forecast: 48 hours in, 24 hours out."""
import argparse
import logging
import time

import numpy as np
import torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s")
log = logging.getLogger("tariff")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", required=True)
    ap.add_argument("--out", required=True)
    ap.add_argument("--epochs", type=int, default=10)
    args = ap.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    raw = np.load(args.data)
    x, y = torch.from_numpy(raw["x"]), torch.from_numpy(raw["y"])
    n = int(0.9 * len(x))
    net = nn.Sequential(nn.Linear(48, 128), nn.GELU(), nn.Linear(128, 128), nn.GELU(), nn.Linear(128, 24))
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    log.info("%d windows for training, %d for validation, %d epochs", n, len(x) - n, args.epochs)
    for epoch in range(args.epochs):
        perm = torch.randperm(n)
        total = 0.0
        for i in range(0, n, 128):
            j = perm[i:i + 128]
            loss = nn.functional.l1_loss(net(x[j]), y[j])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(j)
            time.sleep(0.14)
        with torch.no_grad():
            val = nn.functional.l1_loss(net(x[n:]), y[n:]).item()
        log.info("epoch %d: train mae %.4f, val mae %.4f", epoch, 12 * total / n, 12 * val)
    torch.save(net.state_dict(), args.out)
    log.info("wrote %s", args.out)


if __name__ == "__main__":
    main()
