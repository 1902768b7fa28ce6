"""DDP (gloo) over two ranks; each rank walks its own list of shards."""
import os
import time

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

BATCH, STEPS = 16, 600
SHARDS = [640, 640, 640, 640, 640, 640, 640, 400]      # rows in each shard


def rows(rank, world):
    for i, n in enumerate(SHARDS):
        if i % world != rank:
            continue
        g = torch.Generator().manual_seed(i)
        x = torch.randn(n, 40, generator=g)
        y = (x[:, :10].sum(1, keepdim=True) > 0).float()
        for k in range(0, n - BATCH + 1, BATCH):
            yield x[k:k + BATCH], y[k:k + BATCH]


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    net = DDP(nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, 1)))
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    it = iter(rows(rank, world))
    print(f"[rank {rank}] host {os.uname().nodename} pid {os.getpid()} ready", flush=True)
    for step in range(STEPS):
        x, y = next(it)
        loss = nn.functional.binary_cross_entropy_with_logits(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.25)
        if rank == 0 and step % 10 == 0:
            print(f"[rank 0] step {step:04d}/{STEPS} loss {loss.item():.5f}", flush=True)
        if rank == 0 and step and step % 50 == 0:
            os.makedirs("ckpt", exist_ok=True)
            torch.save({"model": net.module.state_dict(), "step": step}, f"ckpt/step{step:05d}.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
