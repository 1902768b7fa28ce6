"""Sorts support tickets of the GPU cluster into queues: hashed words, a small network."""
import random
import time

import torch
from torch import nn

QUEUES = ["memory", "storage", "network", "account"]
PARTS = {
    "memory": ["RuntimeError: CUDA out of memory on node {n}", "job {n} was Killed, oom-kill in dmesg",
               "MemoryError while loading the index"],
    "storage": ["OSError: [Errno 28] No space left on device in /scratch/{n}", "quota exceeded, cannot save checkpoint {n}",
                "Input/output error on volume {n}"],
    "network": ["NCCL error: unhandled system error, rank {n} timed out", "ConnectionResetError from node {n}",
                "ssh hangs on login node {n}"],
    "account": ["please add user {n} to the project", "password of user {n} expired", "loss of access since Monday, id {n}"],
}
DIM = 256


def ticket(rng):
    queue = rng.randrange(4)
    return rng.choice(PARTS[QUEUES[queue]]).format(n=rng.randrange(100)), queue


def encode(text):
    v = torch.zeros(DIM)
    for word in text.lower().split():
        v[sum(ord(c) * 31 ** i for i, c in enumerate(word)) % DIM] += 1
    return v


def main():
    torch.manual_seed(0)
    rng = random.Random(0)
    net = nn.Sequential(nn.Linear(DIM, 24), nn.ReLU(), nn.Dropout(0.3), nn.Linear(24, 4))
    opt = torch.optim.SGD(net.parameters(), 0.05, momentum=0.9)
    for epoch in range(1, 13):
        right = n = 0
        total = 0.0
        for _ in range(18):
            items = [ticket(rng) for _ in range(16)]
            x, y = torch.stack([encode(t) for t, _ in items]), torch.tensor([q for _, q in items])
            z = net(x)
            loss = nn.functional.cross_entropy(z, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total, n = total + loss.item(), n + 16
            right += (z.argmax(1) == y).sum().item()
            time.sleep(0.17)
        print(f"epoch {epoch:2d}/12   loss {total / 18:.4f}   error rate {1 - right / n:.3f}", flush=True)
        net.eval()
        for text, queue in (ticket(rng) for _ in range(3)):
            p = net(encode(text)).softmax(0)
            print(f"    {text!r} -> {QUEUES[p.argmax()]} ({p.max():.2f}), truth {QUEUES[queue]}", flush=True)
        net.train()
    torch.save(net.state_dict(), "triage.pt")
    print("finished, model in triage.pt")


main()
