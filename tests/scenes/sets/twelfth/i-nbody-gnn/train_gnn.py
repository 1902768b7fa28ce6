"""Interaction network on simulated n-body trajectories; new trajectories are simulated between epochs."""
import argparse
import time

import numpy as np
import torch
from torch import nn

p = argparse.ArgumentParser()
p.add_argument("--epochs", type=int, default=40)
p.add_argument("--particles", type=int, default=24)
p.add_argument("--hidden", type=int, default=64)
args = p.parse_args()
rng = np.random.default_rng(3)
torch.manual_seed(3)


def simulate(n, steps, dt=0.01):
    x, v = rng.normal(size=(n, 3)), 0.1 * rng.normal(size=(n, 3))
    out = []
    for _ in range(steps):
        d = x[None] - x[:, None]
        a = (d / (np.square(d).sum(-1, keepdims=True) + 0.5) ** 1.5).sum(1)
        v = v + dt * a
        x = x + dt * v
        out.append(np.concatenate([x, v, a], 1))
    return np.stack(out).astype(np.float32)


class InteractionNet(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.edge = nn.Sequential(nn.Linear(12, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU())
        self.node = nn.Sequential(nn.Linear(6 + hidden, hidden), nn.SiLU(), nn.Linear(hidden, 3))

    def forward(self, s):
        n = s.shape[1]
        src = s[:, :, None].expand(-1, -1, n, -1)
        dst = s[:, None].expand(-1, n, -1, -1)
        m = self.edge(torch.cat([src, dst], -1)).sum(2)
        return self.node(torch.cat([s, m], -1))


model = InteractionNet(args.hidden)
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
curve = []
for epoch in range(args.epochs):
    traj = np.concatenate([simulate(args.particles, 24) for _ in range(4)])
    traj = torch.from_numpy(rng.permutation(traj))
    total = 0.0
    for i in range(0, 96, 12):
        batch = traj[i:i + 12]
        target = batch[..., 6:]
        loss = (model(batch[..., :6]) - target).square().mean() / target.var()
        opt.zero_grad()
        loss.backward(retain_graph=True)
        opt.step()
        total = total + loss
        time.sleep(0.25)
    curve.append(total / 8)
    print(f"epoch {epoch:3d}  train rel mse {curve[-1].item():.5f}  best {min(curve).item():.5f}  "
          f"{time.strftime('%H:%M:%S')}")
    if epoch % 5 == 4:
        torch.save(model.state_dict(), "nbody.pt")
np.savetxt("curve.txt", [c.item() for c in curve])
