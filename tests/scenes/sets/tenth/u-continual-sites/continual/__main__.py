import argparse
import random
import time
from datetime import datetime

import torch
import torch.nn.functional as F
from torch import nn

ap = argparse.ArgumentParser()
ap.add_argument("--sites", type=int, default=5)
ap.add_argument("--steps", type=int, default=90)
ap.add_argument("--replay", type=int, default=24)
a = ap.parse_args()
torch.manual_seed(5)
random.seed(5)
CLASSES, DIM = 8, 32
centres = torch.randn(CLASSES, DIM) * 1.1
sites = [(torch.linalg.qr(torch.randn(DIM, DIM))[0], torch.randperm(CLASSES)) for _ in range(a.sites)]


def out(level, text):
    print(f"{datetime.now():%H:%M:%S.%f} {level:<7} {text}", flush=True)


def draw(site, n):
    y = torch.randint(0, CLASSES, (n,))
    rot, perm = sites[site]
    return (centres[y] + 0.7 * torch.randn(n, DIM)) @ rot, perm[y]


net = nn.Sequential(nn.Linear(DIM, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, CLASSES))
opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
buffer, table = [], []


def accuracy(site):
    x, y = draw(site, 300)
    with torch.no_grad():
        return (net(x).argmax(1) == y).float().mean().item()


for s in range(a.sites):
    out("INFO", f"=== site {s + 1}/{a.sites} === buffer {len(buffer)} samples, zero-shot accuracy {accuracy(s):.3f}")
    for step in range(a.steps):
        x, y = draw(s, 32)
        if buffer:
            old = random.sample(buffer, 4)
            x, y = torch.cat([x, torch.stack([o[0] for o in old])]), torch.cat([y, torch.stack([o[1] for o in old])])
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 2.0)
        opt.step()
        time.sleep(0.09)
        if step % 6 == 0:
            out("INFO", f"site={s + 1} step={s * a.steps + step} loss={loss.item():.4f}")
    xs, ys = draw(s, a.replay)
    buffer += list(zip(xs, ys))
    row = [accuracy(k) for k in range(s + 1)]
    table.append(row)
    out("INFO", "accuracy by site: " + "  ".join(f"s{k + 1}={v:.3f}" for k, v in enumerate(row)))
    for k, v in enumerate(row[:-1]):
        if (drop := table[k][k] - v) > 0.05:
            out("WARNING", f"forgetting on site {k + 1}: {table[k][k]:.3f} -> {v:.3f} (-{drop:.3f})")
    torch.save(net.state_dict(), f"after_site{s + 1}.pt")
out("INFO", f"average accuracy {sum(table[-1]) / len(table[-1]):.3f}, mean forgetting "
            f"{sum(table[k][k] - table[-1][k] for k in range(a.sites)) / a.sites:.3f}")
out("INFO", "study finished")
