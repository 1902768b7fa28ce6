"""Graph network simulator: learns the acceleration of particles in a dam break (toy)."""
import argparse
import os
import time

import numpy as np
import torch
from torch import nn
from tqdm import tqdm

ap = argparse.ArgumentParser()
ap.add_argument("--epochs", type=int, default=50)
ap.add_argument("--out", default="runs/a")
args = ap.parse_args()
torch.manual_seed(0)
torch.set_num_threads(1)
rng = np.random.default_rng(0)


def frame(n=60):
    pos = rng.uniform(0, 1, (n, 2))
    d = pos[None] - pos[:, None]
    dist = np.linalg.norm(d, axis=-1)
    src, dst = np.nonzero((dist < 0.2) & (dist > 0))
    push = np.zeros((n, 2))
    np.add.at(push, dst, -d[dst, src] * (0.2 - dist[dst, src])[:, None])
    acc = push * 10 + np.array([0, -0.3]) * (pos[:, 1:] > 0.05)
    edge = np.concatenate([d[dst, src], dist[dst, src][:, None]], 1)
    return [torch.as_tensor(a) for a in (pos.astype("f4"), src, dst, edge.astype("f4"), acc.astype("f4"))]


class GNS(nn.Module):
    def __init__(self, h=48):
        super().__init__()
        self.msg = nn.Sequential(nn.Linear(7, h), nn.ReLU(), nn.Linear(h, h))
        self.out = nn.Sequential(nn.Linear(h + 2, h), nn.ReLU(), nn.Linear(h, 2))

    def forward(self, pos, src, dst, edge):
        m = self.msg(torch.cat([pos[src], pos[dst], edge], 1))
        agg = torch.zeros(len(pos), m.shape[1]).index_add_(0, dst, m)
        return self.out(torch.cat([pos, agg], 1))


frames = [frame() for _ in range(40)]
net = GNS()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
os.makedirs(args.out, exist_ok=True)
for epoch in range(args.epochs):
    bar = tqdm(frames, desc=f"epoch {epoch + 1}/{args.epochs}", ncols=90, mininterval=0.5)
    mean = 0.0
    for i, (pos, src, dst, edge, acc) in enumerate(bar):
        loss = nn.functional.mse_loss(net(pos, src, dst, edge), acc)
        opt.zero_grad()
        loss.backward()
        opt.step()
        mean += (loss.item() - mean) / (i + 1)
        bar.set_postfix(mse=f"{mean:.5f}")
        time.sleep(0.09)
torch.save(net.state_dict(), os.path.join(args.out, "final.pt"))
print("model written to", args.out)
