"""Two-tower retrieval model, data parallel on two ranks (gloo). Batches come from the clip store."""
import logging
import os
import socket
import struct
import time

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

torch.set_num_threads(1)
PACE = float(os.environ.get("PACE", "0.4"))
dist.init_process_group("gloo")
rank = dist.get_rank()
logging.basicConfig(format=f"%(asctime)s [rank {rank}] %(message)s", level=logging.INFO)
log = logging.getLogger()
torch.manual_seed(0)


class Store:
    def __init__(self, path):
        self.s = socket.socket(socket.AF_UNIX)
        self.s.connect(path)

    def read(self, n):
        out = b""
        while len(out) < n:
            part = self.s.recv(n - len(out))
            if not part:
                raise ConnectionError("store closed the connection")
            out += part
        return out

    def batch(self):
        self.s.sendall(b"n")
        body = self.read(struct.unpack("!I", self.read(4))[0])
        x = np.frombuffer(body, np.float32)
        return (torch.from_numpy(x[:32 * 64].reshape(32, 64).copy()), torch.from_numpy(x[32 * 64:].reshape(32, 48).copy()))


class Towers(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 32))
        self.b = nn.Sequential(nn.Linear(48, 128), nn.GELU(), nn.Linear(128, 32))

    def forward(self, a, b):
        return F.normalize(self.a(a), dim=-1) @ F.normalize(self.b(b), dim=-1).T / 0.1


# each rank has a storage host of its own; rank 1's is the remote one
store = Store(f"rank{rank}/store.sock")
net = DDP(Towers())
opt = torch.optim.AdamW(net.parameters(), 1e-3)
log.info("world size %d, %d parameters", dist.get_world_size(), sum(p.numel() for p in net.parameters()))
t0 = time.time()
for step in range(1, 3001):
    a, b = store.batch()
    s = net(a, b)
    y = torch.arange(len(a))
    loss = (F.cross_entropy(s, y) + F.cross_entropy(s.T, y)) / 2
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(PACE)
    if rank == 0 and step % 2 == 0:
        acc = (s.argmax(1) == y).float().mean().item()
        log.info("step %4d  loss %.4f  in-batch acc %.3f  %.1f pairs/s", step, loss.item(), acc, step * 64 / (time.time() - t0))
    if rank == 0 and step % 100 == 0:
        torch.save(net.module.state_dict(), "towers.pt")
        log.info("saved towers.pt")
dist.destroy_process_group()
