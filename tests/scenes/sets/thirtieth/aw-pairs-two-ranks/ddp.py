"""Siamese matching of product pairs, two ranks; rank 0 evaluates the whole gallery, rank 1 waits at the barrier."""
import os
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

torch.set_num_threads(1)
PACE = float(os.environ.get("PACE", "0.36"))
EVAL = int(os.environ.get("EVAL", "60"))
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
basis = torch.randn(16, 80)
gen = torch.Generator().manual_seed(100 + rank)


def pairs(n, g):
    z = torch.randn(n, 16, generator=g)
    return (torch.tanh(z @ basis) + 1.1 * torch.randn(n, 80, generator=g) for _ in range(2))


def say(*a):
    if rank == 0:
        print(time.strftime("[%H:%M:%S]"), *a, flush=True)


net = DDP(nn.Sequential(nn.Linear(80, 160), nn.ReLU(), nn.Linear(160, 48)))
opt = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
say(f"world size {world}, batch {64 * world}")
for step in range(1, 2001):
    a, b = pairs(64, gen)
    s = F.normalize(net(a), dim=-1) @ F.normalize(net(b), dim=-1).T / 0.1
    loss = F.cross_entropy(s, torch.arange(64))
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(PACE)
    if step % 4 == 0:
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        say(f"step {step} loss {mean.item() / world:.4f}")
    if step % 120 == 0:
        if rank == 0:
            say(f"step {step} evaluating on the gallery ...")
            net.eval()
            g, hit, n = torch.Generator().manual_seed(5), 0, 0
            with torch.no_grad():
                for _ in range(EVAL):
                    a, b = pairs(1500, g)
                    q, d = F.normalize(net.module(a), dim=-1), F.normalize(net.module(b), dim=-1)
                    hit += ((q @ d.T).argmax(1) == torch.arange(1500)).sum().item()
                    n += 1500
                    time.sleep(0.45)
            net.train()
            say(f"step {step} gallery recall@1 {hit / n:.4f} over {n} queries")
            torch.save(net.module.state_dict(), "matcher.pt")
        dist.barrier()
