"""Two-rank DDP with hard-example mining: from epoch 4 each rank keeps only the samples above its loss threshold."""
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(11)
MINE_FROM, EPOCHS, BATCH = 4, 20, 32


def say(*a):
    if rank == 0:
        print(*a, flush=True)


# the shards differ: the second one came from the noisier camera
g = torch.Generator().manual_seed(100 + rank)
X = torch.randn(1280, 24, generator=g)
y = (X[:, :6].sum(1) > 0).long()
flip = torch.rand(len(y), generator=g) < (0.04 if rank == 0 else 0.22)
y[flip] = 1 - y[flip]

net = DDP(nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 2)))
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
ce = nn.CrossEntropyLoss(reduction="none")
Xv = torch.randn(400, 24, generator=torch.Generator().manual_seed(7))
yv = (Xv[:, :6].sum(1) > 0).long()
os.makedirs("ckpt", exist_ok=True)
say(f"world {world}, {len(X)} samples a rank, mining from epoch {MINE_FROM}")

for epoch in range(EPOCHS):
    keep = torch.randperm(len(X))
    if epoch >= MINE_FROM:
        with torch.no_grad():
            each = ce(net.module(X), y)
        keep = keep[each[keep] > 0.3]
        say(f"epoch {epoch}: mining kept {len(keep)} of {len(X)} samples")
    total = (len(keep) + BATCH - 1) // BATCH
    for i in range(total):
        idx = keep[i * BATCH:(i + 1) * BATCH]
        loss = ce(net(X[idx]), y[idx]).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.28)
        if i % 5 == 0:
            say(f"epoch {epoch} [{i}/{total}] loss {loss.item():.4f}")
    dist.barrier()
    if rank == 0:
        with torch.no_grad():
            acc = (net.module(Xv).argmax(1) == yv).float().mean().item()
        torch.save(net.module.state_dict(), f"ckpt/e{epoch}.pt")
        print(f"epoch {epoch} done, val acc {acc:.4f}, saved ckpt/e{epoch}.pt", flush=True)
dist.destroy_process_group()
