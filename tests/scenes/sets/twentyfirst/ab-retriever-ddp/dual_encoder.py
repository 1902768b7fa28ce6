"""Dual encoder for retrieval on two ranks. Recall over the whole index is computed by rank 0 alone.

torchrun --nproc_per_node 2 dual_encoder.py
"""
import os
import random
import time
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

V, STEPS = 600, 260


class Encoder(nn.Module):
    def __init__(self, d=48):
        super().__init__()
        self.e = nn.EmbeddingBag(V, d)
        self.q = nn.Linear(d, d)
        self.d = nn.Linear(d, d)

    def forward(self, q, d):
        return F.normalize(self.q(self.e(q)), dim=-1), F.normalize(self.d(self.e(d)), dim=-1)


def pairs(rng, n):
    q, d = [], []
    for _ in range(n):
        topic = rng.randrange(60)
        q.append([topic * 10 + rng.randrange(10) for _ in range(6)])
        d.append([topic * 10 + rng.randrange(10) for _ in range(6)] + [rng.randrange(V) for _ in range(6)])
    return torch.tensor(q), torch.tensor(d)


def recall(net, docs):
    rng, hit = random.Random(99), 0
    q, d = pairs(rng, docs)
    with torch.no_grad():
        for i in range(docs):
            a, b = net(q[i : i + 1], d)
            hit += int((a @ b.T)[0].topk(10).indices.eq(i).any())
            time.sleep(0.1)  # a page of the index from disk
    return hit / docs


dist.init_process_group("gloo", timeout=timedelta(minutes=30))
rank = dist.get_rank()
torch.manual_seed(0)
net = DDP(Encoder(), find_unused_parameters=True)
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
rng = random.Random(rank)
os.makedirs("models", exist_ok=True)
for step in range(1, STEPS + 1):
    a, b = net(*pairs(rng, 32))
    loss = F.cross_entropy(a @ b.T / 0.07, torch.arange(32))
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.3 if rank == 0 else 0.33)
    if rank == 0 and step % 10 == 0:
        print(f"rank0 {time.strftime('%T')} step {step}/{STEPS} contrastive {loss.item():.4f}", flush=True)
    if step % 130 == 0:
        if rank == 0:
            torch.save(net.module.state_dict(), f"models/step{step}.pt")
            print(f"rank0 {time.strftime('%T')} full index evaluation, 350 queries (about 40 s) ...", flush=True)
            r = recall(net.module, 350)
            print(f"rank0 {time.strftime('%T')} recall@10 {r:.4f}", flush=True)
        dist.barrier()
if rank == 0:
    print("training finished", flush=True)
dist.destroy_process_group()
