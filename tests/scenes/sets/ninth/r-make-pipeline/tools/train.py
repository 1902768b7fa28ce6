import argparse
import time

import numpy as np
import torch
from torch import nn

p = argparse.ArgumentParser()
p.add_argument("--data")
p.add_argument("--out")
p.add_argument("--epochs", type=int, default=25)
a = p.parse_args()
d = np.load(a.data)
x, y = torch.tensor(d["x"]), torch.tensor(d["y"])
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(30, 32), nn.ReLU(), nn.Linear(32, 4))
opt = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
for epoch in range(a.epochs):
    order = torch.randperm(len(x))
    total = 0.0
    for k in range(0, len(x), 120):
        i = order[k:k + 120]
        loss = nn.functional.cross_entropy(net(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(i)
        time.sleep(0.1)
    print(f"epoch={epoch:02d} loss={total / len(x):.4f}")
torch.save(net.state_dict(), a.out)
