"""Trains from a packed record file; unreadable records are skipped."""
import itertools
import logging
import os
import random
import struct
import sys
import time
import zlib

import torch
import torch.nn as nn

log = logging.getLogger("trainer")
DIM, COUNT, SIZE = 24, 3000, 128
PATH = "data/records.bin"


def build():
    os.makedirs("data", exist_ok=True)
    rng = random.Random(5)
    with open(PATH, "wb") as f:
        for i in range(COUNT):
            y = i % 2
            body = struct.pack(f"<{DIM}fi", *[rng.gauss(0.4 * y, 1) for _ in range(DIM)], y)
            f.write((struct.pack("<I", zlib.crc32(body)) + body).ljust(SIZE, b"\0"))


def read(i):
    with open(PATH, "rb") as f:
        f.seek(i * SIZE)
        buf = f.read(SIZE)
    n = DIM * 4 + 4
    (crc,) = struct.unpack_from("<I", buf)
    body = buf[4:4 + n]
    if zlib.crc32(body) != crc:
        raise ValueError(f"crc mismatch in record {i}")
    *x, y = struct.unpack(f"<{DIM}fi", body)
    return x, y


def batches(size):
    order = itertools.cycle(range(COUNT))
    while True:
        xs, ys = [], []
        try:
            for i in itertools.islice(order, size):
                x, y = read(i)
                xs.append(x)
                ys.append(y)
        except Exception as e:
            log.warning("skipping a bad batch: %s: %s", type(e).__name__, e)
            time.sleep(0.4)
            continue
        yield torch.tensor(xs), torch.tensor(ys)


def main():
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname).1s %(message)s")
    build()
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(DIM, 32), nn.Tanh(), nn.Linear(32, 2))
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    for step, (x, y) in enumerate(batches(16), 1):
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.15)
        if step % 10 == 0:
            log.info("step=%d loss=%.4f", step, loss.item())
        if step == 1000:
            break
    log.info("done")


if __name__ == "__main__":
    main()
