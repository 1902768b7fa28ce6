import csv
import os
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

torch.set_num_threads(1)
dist.init_process_group("gloo", timeout=timedelta(minutes=30))
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
model = DDP(nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 1)))
opt = torch.optim.Adam(model.parameters(), 3e-3)
lossf = nn.BCEWithLogitsLoss()
truth = torch.randn(32)


def say(*words):
    if rank == 0:
        print(time.strftime("[%H:%M:%S]"), *words, flush=True)


def shards(epoch):
    """Files of clicks of this rank; every rank reads its own list of the day."""
    files = sorted(f for f in os.listdir("clicks") if int(f.split("_")[1]) == epoch)
    for name in files[rank::world]:
        with open(f"clicks/{name}") as f:
            seed, rows = next(csv.reader(f))
        g = torch.Generator().manual_seed(int(seed))
        for _ in range(int(rows) // 64):
            x = torch.randn(64, 32, generator=g)
            yield x, (x @ truth > 0).float()


say(f"world size {world}, {len(os.listdir('clicks'))} files")
step = 0
for epoch in range(4):
    for x, y in shards(epoch):
        loss = lossf(model(x).squeeze(1), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        step += 1
        time.sleep(0.18)
        if step % 10 == 0:
            say(f"epoch {epoch} step {step} bce {loss.item():.4f}")
    total = torch.tensor([loss.item()])
    dist.barrier()
    dist.all_reduce(total)
    say(f"epoch {epoch} done, mean bce {total.item() / world:.4f}")
    if rank == 0:
        torch.save(model.module.state_dict(), f"ctr_e{epoch}.pt")
        say(f"saved ctr_e{epoch}.pt")
dist.destroy_process_group()
