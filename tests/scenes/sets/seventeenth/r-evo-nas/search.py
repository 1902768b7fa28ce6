"""Evolutionary search over tiny architectures. A candidate may be nonsense: it then gets no fitness."""
import copy
import math
import random
import time
import traceback

import torch
import torch.nn as nn

torch.set_num_threads(1)
random.seed(6)
torch.manual_seed(6)
X = torch.randn(512, 1, 12, 12)
Y = (X[:, 0, 3:9, 3:9].mean((1, 2)) > 0).long()
OPS = ["conv3", "conv5", "pool", "stride"]


def build(g):
    layers, c = [], 1
    for op in g["ops"]:
        if op == "pool":
            layers.append(nn.MaxPool2d(2))
        else:
            k = 5 if op == "conv5" else 3
            layers += [nn.Conv2d(c, g["width"], k, stride=2 if op == "stride" else 1), nn.ReLU()]
            c = g["width"]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(c, 2))


def fitness(g):
    net = build(g)
    opt = torch.optim.SGD(net.parameters(), lr=g["lr"])
    for _ in range(12):
        i = torch.randint(0, 512, (64,))
        loss = nn.functional.cross_entropy(net(X[i]), Y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.05)
    if not math.isfinite(loss.item()):
        return float("-inf")
    with torch.no_grad():
        return (net(X).argmax(1) == Y).float().mean().item()


def mutate(g):
    g = copy.deepcopy(g)
    what = random.random()
    if what < 0.4 and len(g["ops"]) < 6:
        g["ops"].insert(random.randrange(len(g["ops"]) + 1), random.choice(OPS))
    elif what < 0.6 and len(g["ops"]) > 1:
        g["ops"].pop(random.randrange(len(g["ops"])))
    elif what < 0.8:
        g["lr"] *= random.choice([0.3, 3, 10])
    else:
        g["width"] = random.choice([4, 8, 12])
    return g


pop = [({"ops": ["conv3"], "width": 4, "lr": 0.05}, 0.5)]
bad = 0
for gen in range(1, 21):
    kids = [mutate(random.choice(pop)[0]) for _ in range(4)]
    for k in kids:
        try:
            f = fitness(k)
        except RuntimeError:
            traceback.print_exc(limit=1)
            bad += 1
            print(f"  candidate {'-'.join(k['ops'])} invalid, skipped", flush=True)
            continue
        print(f"  candidate {'-'.join(k['ops']):<36} lr {k['lr']:.3g} fitness {f:.3f}", flush=True)
        pop.append((k, f))
    pop = sorted(pop, key=lambda p: -p[1])[:5]
    print(f"generation {gen:02d} best {pop[0][1]:.3f} {pop[0][0]} invalid so far {bad}", flush=True)
print("search finished")
