import collections
import time

import numpy as np
import torch
from store import Store, build
from torch import nn

DIM, USERS, BATCH = 24, 50, 16
STAGES = [(0, 200), (230, 340)]     # from step, items of the catalogue


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.user = nn.Embedding(USERS, DIM)
        self.item = nn.Sequential(nn.Linear(DIM, 48), nn.ReLU(), nn.Linear(48, DIM))

    def forward(self, u, v):
        return (self.user(u) * self.item(v)).sum(-1)


def catalogue(items):
    """Item after item, round and round, as the export is sorted by item."""
    while True:
        yield from range(items)


def main():
    torch.manual_seed(0)
    build("items.db", 400, DIM)
    store, net = Store("items.db"), Tower()
    taste = torch.randn(USERS, DIM) / DIM ** 0.5
    opt = torch.optim.Adagrad(net.parameters(), 0.05)
    stage, order, began = -1, None, time.perf_counter()
    took = collections.deque(maxlen=10)
    for step in range(1, 1201):
        if stage + 1 < len(STAGES) and step > STAGES[stage + 1][0]:
            stage += 1
            order = catalogue(STAGES[stage][1])
            print(f"catalogue: {STAGES[stage][1]} items", flush=True)
        t = time.perf_counter()
        v = torch.from_numpy(np.stack([store.vector(next(order)) for _ in range(BATCH)]))
        u = torch.randint(0, USERS, (BATCH,))
        loss = nn.functional.mse_loss(net(u, v), (taste[u] * v).sum(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.1)
        took.append(time.perf_counter() - t)
        if step % 5 == 0:
            rate = len(took) / sum(took)
            print(f"[{time.perf_counter() - began:7.1f}s] step {step:4d}/1200 mse {loss.item():.4f} {rate:.2f} steps/s",
                  flush=True)


if __name__ == "__main__":
    main()
