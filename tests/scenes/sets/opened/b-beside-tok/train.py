import os
import time

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()


def say(msg):
    if rank == 0:
        print(f"{time.strftime('%H:%M:%S')} INFO {msg}", flush=True)


def shards():
    k = 0
    while True:
        told = False
        while not os.path.exists(f"tok/{k}.npy"):
            if os.path.exists("tok/COMPLETE") and k >= int(open("tok/COMPLETE").read()):
                return
            if not told:
                say(f"waiting for shard {k} of the tokeniser")
                told = True
            time.sleep(0.3)
        yield k, np.load(f"tok/{k}.npy")
        k += 1


torch.manual_seed(0)
net = DDP(nn.Sequential(nn.Embedding(200, 32), nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 200)))
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
step = 0
for k, rows in shards():
    for b in torch.from_numpy(rows[rank::world]).long().split(12):
        loss = nn.functional.cross_entropy(net(b[:, :-1]).flatten(0, 1), b[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        step += 1
        time.sleep(0.3)
    say(f"shard {k} done, global step {step}, loss {loss.item():.4f}")
say(f"no more shards, {step} steps")
if rank == 0:
    torch.save(net.module.state_dict(), "lm.pt")
dist.barrier()
dist.destroy_process_group()
