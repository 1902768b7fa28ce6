"""DDP language model over shards of rulings; missing token caches are built on the way."""
import datetime
import os
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from filelock import FileLock
from torch.nn.parallel import DistributedDataParallel as DDP

from corpus import VOCAB, path_of, tokenise

SHARDS, STEPS_PER_SHARD, BATCH, SEQ = 8, 42, 8, 48


def say(*a):
    if dist.get_rank() == 0:
        print(time.strftime("%H:%M:%S"), *a, flush=True)


def load_shard(i):
    p = path_of(i)
    if not os.path.exists(p):
        say(f"{p} not in cache, tokenising")
        # one writer only, the others take what it wrote
        with FileLock(p + ".lock"):
            if dist.get_rank() == 0 and not os.path.exists(p):
                tokenise(i, pause=0.4)
            dist.barrier()
    return torch.load(p)


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, 64)
        self.rnn = nn.GRU(64, 96, batch_first=True)
        self.out = nn.Linear(96, VOCAB)

    def forward(self, x):
        return self.out(self.rnn(self.emb(x))[0])


def main():
    dist.init_process_group("gloo", timeout=datetime.timedelta(hours=3))
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = DDP(LM())
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    gen = torch.Generator().manual_seed(rank)
    step = 0
    for i in range(SHARDS):
        data = load_shard(i)
        say(f"shard {i}: {len(data)} tokens")
        for _ in range(STEPS_PER_SHARD):
            at = torch.randint(0, len(data) - SEQ - 1, (BATCH,), generator=gen)
            x = torch.stack([data[a:a + SEQ + 1] for a in at.tolist()])
            loss = F.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
            opt.zero_grad()
            loss.backward()
            opt.step()
            step += 1
            time.sleep(0.28)
            if step % 10 == 0:
                say(f"step {step} loss {loss.item():.4f} ppl {loss.exp().item():.2f}")
        if rank == 0:
            torch.save({"model": model.module.state_dict(), "step": step, "shard": i}, "last.tmp")
            os.replace("last.tmp", "last.pt")
        say(f"saved last.pt after shard {i}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
