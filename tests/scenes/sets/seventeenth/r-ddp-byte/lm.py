import os
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

torch.set_num_threads(1)
CTX, STEPS = 32, 260


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.att = nn.MultiheadAttention(d, 4, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x):
        n = x.shape[1]
        mask = torch.triu(torch.ones(n, n, dtype=torch.bool), 1)
        h = self.ln1(x)
        x = x + self.att(h, h, h, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(self.ln2(x))


class LM(nn.Module):
    def __init__(self, d=48):
        super().__init__()
        self.tok, self.pos = nn.Embedding(128, d), nn.Embedding(CTX, d)
        self.blocks = nn.Sequential(Block(d), Block(d))
        self.head = nn.Linear(d, 128)

    def forward(self, x):
        return self.head(self.blocks(self.tok(x) + self.pos(torch.arange(x.shape[1]))))


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    text = open(os.__file__, encoding="utf-8").read()
    ids = torch.tensor([min(ord(c), 127) for c in text])
    torch.manual_seed(0)
    model = DistributedDataParallel(LM())
    opt = torch.optim.AdamW(model.parameters(), 3e-3)
    gen = torch.Generator().manual_seed(rank)
    t = time.time()
    for it in range(1, STEPS + 1):
        at = torch.randint(0, len(ids) - CTX - 1, (6,), generator=gen)
        x = torch.stack([ids[a:a + CTX] for a in at])
        y = torch.stack([ids[a + 1:a + CTX + 1] for a in at])
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        time.sleep(0.12)
        if it % 10 == 0:
            mean = loss.detach().clone()
            dist.all_reduce(mean)
            if rank == 0:
                print(f"iter {it}: loss {mean.item() / world:.4f}, time {(time.time() - t) * 100:.2f}ms", flush=True)
                t = time.time()
        if it % 100 == 0:
            if rank == 0:
                torch.save(model.module.state_dict(), "ckpt.pt")
                print("saving checkpoint to ckpt.pt", flush=True)
            dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
