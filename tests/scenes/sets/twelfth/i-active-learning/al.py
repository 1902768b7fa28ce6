"""Active learning of a potential energy surface: train, explore by MD, label with the expensive method, repeat."""
import logging
import subprocess
import sys
import time

import numpy as np
import torch
from torch import nn

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s | %(message)s", datefmt="%d %b %H:%M:%S")
log = logging.getLogger()
torch.manual_seed(1)
torch.set_num_threads(1)
CYCLES = 3


def train(nets, x, y, cycle):
    mean, std = y.mean(), y.std()
    for epoch in range(1, 41):
        total = 0.0
        for net, opt in nets:
            loss = ((net(x)[:, 0] - (y - mean) / std) ** 2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        time.sleep(0.15)
        if epoch % 5 == 0:
            log.info("cycle %d epoch %2d ensemble loss %.4f", cycle, epoch, total / len(nets))


def explore(nets, n):
    pool = torch.rand(4000, 3) * 4 - 2
    with torch.no_grad():
        spread = torch.stack([net(pool)[:, 0] for net, _ in nets]).std(0)
    log.info("max disagreement %.4f", spread.max())
    return pool[spread.topk(n).indices]


def label(points, cycle):
    np.save("to_label.npy", points.numpy())
    log.info("labelling %d structures with solver.py", len(points))
    subprocess.run([sys.executable, "solver.py", "to_label.npy", f"labels_{cycle}.npy"], check=True)
    return torch.from_numpy(np.load(f"labels_{cycle}.npy")).float()


def main():
    nets = []
    for _ in range(4):
        net = nn.Sequential(nn.Linear(3, 40), nn.SiLU(), nn.Linear(40, 40), nn.SiLU(), nn.Linear(40, 1))
        nets.append((net, torch.optim.Adam(net.parameters(), lr=5e-3)))
    x = torch.rand(24, 3) * 4 - 2
    y = label(x, 0)
    for cycle in range(1, CYCLES + 1):
        train(nets, x, y, cycle)
        torch.save([net.state_dict() for net, _ in nets], f"ensemble_{cycle}.pt")
        if cycle < CYCLES:
            new = explore(nets, 24)
            x, y = torch.cat([x, new]), torch.cat([y, label(new, cycle)])
    log.info("finished, %d labelled structures", len(x))


if __name__ == "__main__":
    main()
