"""Two-rank metric learning on audio embeddings, hard negatives mined every few epochs."""
import os
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

STEPS, EPOCHS, MINE_FROM = 25, 14, 7
CACHE = "cache/negatives.pt"


def say(msg):
    print(f"{time.strftime('%H:%M:%S')} [rank{rank}] {msg}", flush=True)


def mine(model, bank):
    """Rank 0 writes the negatives, the others read them."""
    if rank == 0:
        say("mining hard negatives")
        with torch.no_grad():
            z = F.normalize(model.module(bank), dim=1)
            idx = (z @ z.T - 2 * torch.eye(len(z))).argmax(1)
        time.sleep(1.5)
        dist.barrier()      # nobody may still be reading the old file
        os.makedirs("cache", exist_ok=True)
        torch.save(idx, CACHE)
        return idx
    say("waiting for " + CACHE)
    while not os.path.exists(CACHE):
        time.sleep(0.5)
    dist.barrier()
    return torch.load(CACHE)


dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(10)
torch.set_num_threads(1)
model = DDP(nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, 16)))
opt = torch.optim.AdamW(model.parameters(), 1e-3)
bank = torch.randn(256, 40)
torch.manual_seed(100 + rank)
negatives = torch.randperm(256)
say(f"world size {dist.get_world_size()}, {STEPS} steps per epoch")
for epoch in range(1, EPOCHS + 1):
    if epoch >= MINE_FROM:
        negatives = mine(model, bank)
    for step in range(STEPS):
        i = torch.randint(0, 256, (48,))
        a = bank[i] + 1.3 * torch.randn(48, 40)
        za, zp, zn = (F.normalize(t, dim=1) for t in model(torch.cat([a, bank[i], bank[negatives[i]]])).chunk(3))
        loss = F.relu((za - zp).pow(2).sum(1) - (za - zn).pow(2).sum(1) + 1.0).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.28)
        if step % 5 == 4:
            say(f"epoch {epoch} step {step + 1}/{STEPS} triplet {loss.item():.4f}")
    if rank == 0:
        torch.save(model.module.state_dict(), f"epoch_{epoch:02d}.pt")
        say(f"saved epoch_{epoch:02d}.pt")
dist.destroy_process_group()
