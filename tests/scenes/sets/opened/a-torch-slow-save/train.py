"""Saves to a slow archive volume (a few MB take most of a minute)."""
import io
import logging
import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

logging.basicConfig(level=logging.INFO, format="[%(asctime)s] %(message)s", datefmt="%m/%d %H:%M:%S")


def save(state, path, rate=140_000):
    buf = io.BytesIO()
    torch.save(state, buf)
    data = buf.getvalue()
    t0 = time.time()
    logging.info("Saving checkpoint to %s (%.1f MB) ...", path, len(data) / 1e6)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".part", "wb") as f:
        for k in range(0, len(data), 1 << 17):
            f.write(data[k:k + (1 << 17)])
            f.flush()
            os.fsync(f.fileno())
            time.sleep((1 << 17) / rate)
    os.replace(path + ".part", path)
    logging.info("Checkpoint saved in %.1f s", time.time() - t0)


def main():
    torch.manual_seed(6)
    net = nn.Sequential(nn.Linear(128, 640), nn.ReLU(), nn.Linear(640, 640), nn.ReLU(), nn.Linear(640, 20))
    opt = torch.optim.Adam(net.parameters(), lr=4e-4)
    w = torch.randn(128, 20)
    for it in range(1, 201):
        x = torch.randn(64, 128)
        loss = F.cross_entropy(net(x), (x @ w).argmax(1))
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.13)
        if it % 5 == 0:
            logging.info("Epoch: [0][%3d/200]  Loss %.4f", it, loss.item())
        if it % 100 == 0:
            save({"net": net.state_dict(), "opt": opt.state_dict(), "it": it}, f"archive/it{it}.pth")
    logging.info("Done.")


if __name__ == "__main__":
    main()
