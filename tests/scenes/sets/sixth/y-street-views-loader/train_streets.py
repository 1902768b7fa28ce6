"""Predict the surface of a street from a photograph. The photographs lie on the network volume."""
import logging
import os
import socket
import time

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)
BLOCK, SIDE, CLASSES = 16 * 1024, 128, 4
logging.basicConfig(filename="train.log", level=logging.INFO, format="%(asctime)s | %(levelname)s | %(message)s")


class Streets(Dataset):
    """One photograph is one block of 16 KiB."""

    def __init__(self, n):
        self.n, self.conn = n, None

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if self.conn is None:
            self.conn = socket.socket(socket.AF_UNIX)
            self.conn.connect("volume.sock")
        self.conn.sendall((1).to_bytes(8, "little"))
        raw = bytearray()
        while len(raw) < BLOCK:
            got = self.conn.recv(BLOCK - len(raw))
            if not got:
                raise ConnectionError("volume closed the connection")
            raw += got
        x = torch.from_numpy(np.frombuffer(bytes(raw), dtype=np.uint8).astype(np.float32).reshape(1, SIDE, SIDE) / 255)
        y = i % CLASSES
        x[0, y * 20:y * 20 + 20] += 0.3
        return x, y


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 6, 5, stride=4), nn.ReLU(), nn.AdaptiveAvgPool2d(6), nn.Flatten(), nn.Linear(216, CLASSES))
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    loader = DataLoader(Streets(3200), batch_size=16, shuffle=True, num_workers=2)
    logging.info("start: %d batches an epoch, 2 workers", len(loader))
    step, t0, waited = 0, time.time(), 0.0
    for epoch in range(2):
        mark = time.time()
        for x, y in loader:
            waited += time.time() - mark
            loss = nn.functional.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            time.sleep(0.15)
            step += 1
            if step % 5 == 0:
                spent = time.time() - t0
                logging.info("epoch %d step %d/%d loss %.4f %.2f s/step (data %.2f)", epoch, step, 2 * len(loader),
                             loss.item(), spent / 5, waited / spent)
                t0, waited = time.time(), 0.0
            if step % 50 == 0:
                torch.save({"model": model.state_dict(), "step": step}, "streets.tmp")
                os.replace("streets.tmp", "streets.pt")
            mark = time.time()
    logging.info("training complete")


if __name__ == "__main__":
    main()
