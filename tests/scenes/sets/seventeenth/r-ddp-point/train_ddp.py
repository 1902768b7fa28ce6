import logging
import os
import time

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

torch.set_num_threads(1)


def setup():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format=f"[%(asctime)s][rank{rank}] %(message)s")
    return rank


class PointNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.point = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 64), nn.ReLU())
        self.head = nn.Linear(64, 4)

    def forward(self, x):
        return self.head(self.point(x).amax(1))


def shard(rank, world):
    """Every rank takes the scans of its own files; files differ in length."""
    g = torch.Generator().manual_seed(5)
    lengths = [148, 140]
    n = lengths[rank % len(lengths)]
    y = torch.randint(0, 4, (n * 8,), generator=g)
    x = torch.randn(n * 8, 40, 3, generator=g)
    x = x * (1 + 0.5 * y[:, None, None]) + y[:, None, None] * 0.1
    return x, y


def validate(model, x, y):
    """Accuracy over all ranks."""
    with torch.no_grad():
        hit = (model.module(x).argmax(-1) == y).float().mean()
    dist.barrier()
    parts = [torch.zeros(1) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, hit.reshape(1))
    return torch.stack(parts).mean().item()


def main():
    rank = setup()
    world = dist.get_world_size()
    torch.manual_seed(0)
    model = DDP(PointNet())
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    x, y = shard(rank, world)
    logging.info("world size %d, %d scans on this rank", world, len(x))
    step = 0
    for epoch in range(20):
        for b in range(0, len(x), 8):
            loss = nn.functional.cross_entropy(model(x[b:b + 8]), y[b:b + 8])
            opt.zero_grad()
            loss.backward()
            opt.step()
            time.sleep(0.15)
            step += 1
            if step % 10 == 0 and rank == 0:
                logging.info("epoch %d step %d loss %.4f", epoch, step, loss.item())
        acc = validate(model, x[:64], y[:64])
        if rank == 0:
            logging.info("epoch %d val acc %.3f", epoch, acc)
            os.makedirs("ckpt", exist_ok=True)
            torch.save(model.module.state_dict(), f"ckpt/ep{epoch}.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
