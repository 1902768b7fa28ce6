import argparse
import logging
import os
import socket
import struct
import time

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

logging.basicConfig(level=logging.INFO, format="%(asctime)s [%(levelname)s] %(message)s")
log = logging.getLogger("train")


class Encoder(nn.Module):
    def __init__(self, mels=40, dim=64, classes=12):
        super().__init__()
        self.conv = nn.Conv1d(mels, dim, 5, stride=2)
        self.ff = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, dim))
        self.out = nn.Linear(dim, classes)

    def forward(self, x):
        h = self.conv(x.transpose(1, 2)).transpose(1, 2)
        return self.out((h + self.ff(h)).mean(1))


def read(sock, n):
    buf = bytearray()
    while len(buf) < n:
        got = sock.recv(n - len(buf))
        if not got:
            raise ConnectionError("shard server closed the stream")
        buf += got
    return bytes(buf)


def stream(addr, rank):
    host, port = addr.split(":")
    sock = socket.create_connection((host, int(port)))
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    sock.sendall(struct.pack("<i", rank))
    while True:
        body = read(sock, struct.unpack("<i", read(sock, 4))[0])
        y = torch.from_numpy(np.frombuffer(body[:32], "i4").astype("i8"))
        yield torch.from_numpy(np.frombuffer(body[32:], "f4").reshape(8, 96, 40).copy()), y


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--feed")
    p.add_argument("--steps", type=int)
    a = p.parse_args()
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(1)
    model = DistributedDataParallel(Encoder())
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    if rank == 0:
        log.info("world size %d, %d parameters", dist.get_world_size(), sum(q.numel() for q in model.parameters()))
    t = time.time()
    for step, (x, y) in enumerate(stream(a.feed, rank), 1):
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.15)
        if rank == 0 and step % 10 == 0:
            log.info("step %d/%d loss=%.4f %.1f utt/s", step, a.steps, loss.item(), 160 / (time.time() - t))
            t = time.time()
        if rank == 0 and step % 100 == 0:
            os.makedirs("exp", exist_ok=True)
            torch.save({"model": model.module.state_dict(), "step": step}, f"exp/step{step}.pt")
            log.info("saved exp/step%d.pt", step)
        if step == a.steps:
            break
    dist.destroy_process_group()


main()
