import os
import sys
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

CLASSES = 7  # HAM10000: akiec bcc bkl df mel nv vasc


def shard(rank):
    """Features of the lesions and the label column of the metadata sheet."""
    g = torch.Generator().manual_seed(rank)
    y = torch.randint(0, CLASSES, (480,), generator=g)
    if rank == 1:
        y[437] = 7  # id of "unknown" in the 2019 extension
    x = torch.rand(480, 3, 24, 24, generator=g) + y[:, None, None, None] / CLASSES
    return x, y


def say(*a):
    print(f"[rank{dist.get_rank()}]", *a, flush=True)


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    net = DDP(nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(3), nn.Flatten(), nn.Linear(72, CLASSES)))
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    x, y = shard(rank)
    step = 0
    for epoch in range(5):
        for k in range(0, len(y), 8):
            loss = F.cross_entropy(net(x[k:k + 8]), y[k:k + 8])
            opt.zero_grad()
            loss.backward()
            opt.step()
            step += 1
            time.sleep(0.4)
            if rank == 0 and step % 5 == 0:
                say(f"epoch {epoch} step {step} loss {loss.item():.4f}")
        if rank == 0:
            torch.save(net.module.state_dict(), "skin.pt")
            say(f"saved skin.pt after epoch {epoch}")
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    sys.exit(main())
