"""Two-rank data parallel character LM with early stopping. Launch: torchrun --nproc_per_node 2 ddp_lm.py"""
import os
import random
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

SEQ, BATCH, STEPS, EVAL_EVERY, PATIENCE = 64, 8, 400, 15, 2


def recipes(seed, n):
    rng = random.Random(seed)
    v = ["boil", "chop", "fry", "salt", "stir", "bake", "drain"]
    o = ["the onions", "two eggs", "rice", "a leek", "the beans", "some flour", "garlic"]
    t = ["for ten minutes", "until soft", "slowly", "in butter", "at high heat"]
    return "".join(f"{rng.choice(v)} {rng.choice(o)} {rng.choice(t)}.\n" for _ in range(n))


def reviews(seed, n):
    rng = random.Random(seed)
    # free text, much of it with codes and prices that cannot be learnt
    return "".join(f"item {rng.randrange(10**9)} rated {rng.random():.6f} at {rng.randrange(10**6)}\n" for _ in range(n))


class CharLM(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.emb = nn.Embedding(128, d)
        self.rnn = nn.GRU(d, d, batch_first=True)
        self.out = nn.Linear(d, 128)

    def forward(self, x):
        return self.out(self.rnn(self.emb(x))[0])


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    # each rank has its own part of the corpus, with a held-out tail
    text = recipes(1, 3000) if rank == 0 else reviews(2, 3000)
    ids = torch.tensor([ord(c) for c in text])
    train, val = ids[: -SEQ * 40], ids[-SEQ * 40 :].view(-1, SEQ)
    model = DDP(CharLM())
    opt = torch.optim.Adam(model.parameters(), lr=4e-3)
    gen = torch.Generator().manual_seed(10 + rank)
    if rank == 0:
        os.makedirs("ckpt", exist_ok=True)
        print(f"world size {dist.get_world_size()}, {sum(p.numel() for p in model.parameters())} parameters", flush=True)

    def loss_of(x, net):
        return F.cross_entropy(net(x[:, :-1]).reshape(-1, 128), x[:, 1:].reshape(-1))

    best, bad = float("inf"), 0
    for step in range(1, STEPS + 1):
        at = torch.randint(0, len(train) - SEQ, (BATCH,), generator=gen)
        x = torch.stack([train[i : i + SEQ] for i in at])
        loss = loss_of(x, model)
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.3)
        if step % 3 == 0 and rank == 0:
            print(f"[{time.strftime('%H:%M:%S')}] step {step}/{STEPS} loss {loss.item():.4f}", flush=True)
        if step % EVAL_EVERY == 0:
            with torch.no_grad():
                val_loss = loss_of(val, model.module).item()
            if rank == 0:
                print(f"[{time.strftime('%H:%M:%S')}] step {step} val_loss {val_loss:.4f}", flush=True)
                torch.save(model.module.state_dict(), "ckpt/last.pt")
            if val_loss < best - 0.04:
                best, bad = val_loss, 0
            else:
                bad += 1
            if bad >= PATIENCE:
                print(f"[rank {rank}] early stopping at step {step}, best val_loss {best:.4f}", flush=True)
                break
    dist.barrier()
    if rank == 0:
        print("all ranks done", flush=True)
    dist.destroy_process_group()


main()
