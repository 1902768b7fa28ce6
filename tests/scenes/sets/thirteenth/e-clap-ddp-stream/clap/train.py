"""Contrastive audio/text pairs, data parallel."""
import os, sys, time
import torch, torch.distributed as dist, torch.nn as nn, torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from clap.data import ShardStream


class Towers(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 32))
        self.t = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32))
        self.temp = nn.Parameter(torch.tensor(2.0))

    def forward(self, audio, text):
        a, t = F.normalize(self.a(audio), dim=-1), F.normalize(self.t(text), dim=-1)
        logits = self.temp.exp() * a @ t.T
        y = torch.arange(len(a))
        return (F.cross_entropy(logits, y) + F.cross_entropy(logits.T, y)) / 2


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    metrics = dist.new_group(backend="gloo")    # scores go a way of their own, beside the gradient buckets
    torch.manual_seed(0)
    model = DDP(Towers())
    opt = torch.optim.AdamW(model.parameters(), 1e-3)
    step = 0
    for epoch in range(4):
        for audio, text in ShardStream(rank, world):
            loss = model(audio, text)
            opt.zero_grad()
            loss.backward()
            opt.step()
            step += 1
            if step % 5 == 0:
                print(f"[{time.strftime('%H:%M:%S')}] [rank{rank}] epoch {epoch} step {step:>4} loss {loss.item():.4f}", flush=True)
        print(f"[{time.strftime('%H:%M:%S')}] [rank{rank}] epoch {epoch} data exhausted, validating", flush=True)
        score = torch.tensor([loss.item()])
        dist.all_reduce(score, group=metrics)
        if rank == 0:
            print(f"val proxy {score.item() / world:.4f}", flush=True)
            torch.save(model.module.state_dict(), f"clap_e{epoch}.pt")
        dist.barrier(group=metrics)
    dist.destroy_process_group()


main()
