"""Two-rank DDP language model; every rank reads its own shard of the epoch."""
import os
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(11)
V, T, B, MAXLEN = 40, 24, 8, 200
os.makedirs("ckpt", exist_ok=True)


def say(msg):
    print(f"[{time.strftime('%H:%M:%S')}][rank {rank}] {msg}", flush=True)


def shard(epoch):
    """Documents of this rank, longer ones than MAXLEN are left out."""
    g = torch.Generator().manual_seed(1000 * epoch + rank)
    n = 50 * B
    lengths = torch.randint(40, MAXLEN, (n,), generator=g)
    if epoch >= 4:  # from here the mix has the book part, dealt out by author
        book = torch.rand(n, generator=g) < (0.0, 0.25)[rank]
        lengths[book] += MAXLEN
    keep = lengths <= MAXLEN
    base = torch.arange(T + 1)[None] * torch.randint(1, 4, (n, 1), generator=g) + torch.randint(0, V, (n, 1), generator=g)
    return (base % V)[keep]


class LM(nn.Module):
    def __init__(self, d=48):
        super().__init__()
        self.e = nn.Embedding(V, d)
        self.r = nn.GRU(d, d, batch_first=True)
        self.h = nn.Linear(d, V)

    def forward(self, x):
        return self.h(self.r(self.e(x))[0])


model = DDP(LM())
opt = torch.optim.AdamW(model.parameters(), 2e-3)
step = 0
for epoch in range(1, 9):
    data = shard(epoch)
    n_batches = len(data) // B
    for i in range(n_batches):
        x = data[i * B:(i + 1) * B]
        loss = F.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        step += 1
        time.sleep(0.27)
        if rank == 0 and step % 10 == 0:
            say(f"epoch {epoch} step {step} loss {loss.item():.4f}")
    if rank == 0:
        torch.save({"epoch": epoch, "model": model.module.state_dict()}, f"ckpt/epoch-{epoch}.pt")
        open(f"ckpt/epoch-{epoch}.done", "w").close()
        say(f"epoch {epoch}: {n_batches} batches, saved ckpt/epoch-{epoch}.pt")
    else:
        say(f"epoch {epoch}: {n_batches} batches, waiting for ckpt/epoch-{epoch}.done")
        while not os.path.exists(f"ckpt/epoch-{epoch}.done"):
            time.sleep(0.5)
say("finished")
dist.destroy_process_group()
