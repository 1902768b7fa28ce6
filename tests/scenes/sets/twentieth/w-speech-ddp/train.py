"""Keyword spotting, data parallel. torchrun --standalone --nproc_per_node 2 train.py"""
import os
import random
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(100 + rank)


def say(msg):
    print(f"{time.strftime('%H:%M:%S')} [rank{rank}] {msg}", flush=True)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv1d(8, 32, 5, padding=2), nn.BatchNorm1d(32), nn.ReLU(),
                                  nn.Conv1d(32, 32, 5, padding=2), nn.ReLU())
        self.head = nn.Linear(32, 6)

    def forward(self, x):
        return self.head(self.body(x).mean(-1))


gen = torch.Generator().manual_seed(5)
PROTOS = torch.randn(6, 8, 40, generator=gen)


def batch(n, noise):
    y = torch.randint(0, 6, (n,))
    return PROTOS[y] + noise * torch.randn(n, 8, 40), y


class Patience:
    def __init__(self, rounds):
        self.rounds, self.best, self.bad = rounds, float("inf"), 0

    def done(self, value):
        if value < self.best - 2e-3:
            self.best, self.bad = value, 0
        else:
            self.bad += 1
        return self.bad >= self.rounds


def main():
    model = DDP(Net())
    optim = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loss_fn = nn.CrossEntropyLoss()
    # speakers are split over the ranks
    noise = 2.0 + 0.6 * rank
    dev = batch(96, noise)
    stop = Patience(3)
    if rank == 0:
        say(f"world size {world}, {sum(p.numel() for p in model.parameters())} parameters")
    for epoch in range(1, 41):
        model.train()
        total = 0.0
        for _ in range(12):
            x, y = batch(16, noise)
            time.sleep(0.12)
            loss = loss_fn(model(x), y)
            optim.zero_grad()
            loss.backward()
            optim.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            dev_loss = loss_fn(model.module(dev[0]), dev[1]).item()
        say(f"epoch {epoch:2d} train {total / 12:.4f} dev {dev_loss:.4f} best {min(stop.best, dev_loss):.4f}")
        if stop.done(dev_loss):
            say(f"no improvement for {stop.rounds} epochs, stopping")
            break
    dist.barrier()
    if rank == 0:
        os.makedirs("ckpt", exist_ok=True)
        torch.save(model.module.state_dict(), "ckpt/best.pt")
        say("saved ckpt/best.pt")
    dist.destroy_process_group()


main()
