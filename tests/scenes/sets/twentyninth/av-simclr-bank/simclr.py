"""Self-supervised pictures (SimCLR) with a kNN check after each epoch."""
import json
import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

PAUSE = float(os.environ.get("PAUSE", "0.4"))
torch.set_num_threads(1)
torch.manual_seed(0)
CLASSES, STEPS, EPOCHS = 12, 60, 40
protos = torch.randn(CLASSES, 3, 12, 12)


def pictures(n):
    y = torch.randint(0, CLASSES, (n,))
    return protos[y] * (0.6 + 0.8 * torch.rand(n, 1, 1, 1)) + 0.5 * torch.randn(n, 3, 12, 12), y


def view(x):
    x = torch.roll(x, shifts=(int(torch.randint(-2, 3, ())), int(torch.randint(-2, 3, ()))), dims=(2, 3))
    return x + 0.25 * torch.randn_like(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(288, 96), nn.ReLU()
        )
        self.proj = nn.Linear(96, 64)

    def forward(self, x):
        return F.normalize(self.proj(self.body(x)), dim=1)


def nt_xent(a, b, t=0.2):
    z = torch.cat([a, b])
    s = (z @ z.T / t).masked_fill(torch.eye(len(z), dtype=torch.bool), -1e9)
    n = len(a)
    return F.cross_entropy(s, torch.cat([torch.arange(n, 2 * n), torch.arange(n)]))


class KnnProbe:
    """Leave-one-out kNN over the features collected."""

    def __init__(self):
        self.features, self.labels = [], []

    @torch.no_grad()
    def collect(self, net, batches=28):
        for _ in range(batches):
            x, y = pictures(128)
            self.features.append(F.normalize(net.body(x), dim=1))
            self.labels.append(y)

    @torch.no_grad()
    def accuracy(self, k=20):
        f, y = torch.cat(self.features), torch.cat(self.labels)
        sim = f @ f.T
        sim.fill_diagonal_(-1)
        near = y[sim.topk(k, dim=1).indices]
        return (near.mode(dim=1).values == y).float().mean().item()


net, probe = Net(), KnnProbe()
opt = torch.optim.Adam(net.parameters(), 1e-3)
step = 0
for epoch in range(EPOCHS):
    for _ in range(STEPS):
        x, _ = pictures(96)
        loss = nt_xent(net(view(x)), net(view(x)))
        opt.zero_grad()
        loss.backward()
        opt.step()
        step += 1
        time.sleep(PAUSE)
        if step % 2 == 0:
            print(json.dumps({"epoch": epoch, "step": step, "nt_xent": round(loss.item(), 4), "lr": 1e-3}), flush=True)
    probe.collect(net)
    print(json.dumps({"epoch": epoch, "knn_acc": round(probe.accuracy(), 4)}), flush=True)
    torch.save(net.state_dict(), "simclr_last.pt")
