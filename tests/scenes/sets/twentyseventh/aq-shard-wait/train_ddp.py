"""Pretraining on several ranks; rank r reads the shards r, r + world, ... that prefetch.py puts into cache/."""
import os
import time

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

V, T, B, PER_SHARD = 200, 32, 8, int(os.environ.get("PER_SHARD", 45))
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.set_num_threads(1)


def say(*what):
    print(f"{time.strftime('%m-%d %H:%M:%S')} [{rank}]", *what, flush=True)


def batches():
    s = rank
    while True:
        path = f"cache/shard_{s:03d}.bin"
        if not os.path.exists(path):
            say(f"{path} is not there yet, waiting for it")
        while not os.path.exists(path):
            time.sleep(0.5)
        d = torch.from_numpy(np.fromfile(path, dtype=np.uint16).astype("int64"))
        for _ in range(PER_SHARD):
            i = torch.randint(len(d) - T - 1, (B,))
            x = torch.stack([d[k:k + T + 1] for k in i])
            yield x[:, :-1], x[:, 1:]
        s += world


class LM(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.tok, self.rnn, self.head = nn.Embedding(V, d), nn.LSTM(d, 2 * d, batch_first=True), nn.Linear(2 * d, V)

    def forward(self, x):
        return self.head(self.rnn(self.tok(x))[0])


torch.manual_seed(0)
net = LM()
model = DDP(net)
torch.manual_seed(rank)
opt = torch.optim.AdamW(model.parameters(), lr=4e-3)
for step, (x, y) in enumerate(batches(), 1):
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.3)
    if rank == 0 and step % 2 == 0:
        say(f"step {step}/800 loss {loss.item():.4f}")
    if rank == 0 and step % 60 == 0:
        torch.save({"model": net.state_dict(), "step": step}, "ckpt.pt")
        say(f"checkpoint at step {step}")
    if step == 800:
        break
dist.destroy_process_group()
