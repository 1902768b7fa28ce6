import csv
import os
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

fold = int(sys.argv[1])
os.makedirs("out", exist_ok=True)
torch.manual_seed(1234)
y = torch.arange(240) % 4
x = torch.rand(240, 1, 20, 20)
x[torch.arange(240), 0, y * 5] += 0.6
parts = torch.randperm(240).chunk(4)
test = parts[fold - 1]
train = torch.cat([p for k, p in enumerate(parts) if k != fold - 1])
net = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 18 * 18, 4))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
print(f"===== FOLD {fold} =====  train {len(train)} test {len(test)}")
rows = []
for epoch in range(1, 9):
    total = 0.0
    perm = train[torch.randperm(len(train))]
    for batch in perm.split(20):
        loss = F.cross_entropy(net(x[batch]), y[batch])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(batch)
        time.sleep(0.13)
    with torch.no_grad():
        out = net(x[test])
    acc = (out.argmax(1) == y[test]).float().mean().item()
    rows.append([epoch, total / len(train), F.cross_entropy(out, y[test]).item(), acc])
    print("fold {} epoch {} train_loss {:.4f} test_loss {:.4f} acc {:.3f}".format(fold, *rows[-1]))
torch.save(net.state_dict(), f"out/fold{fold}.pt")
with open(f"out/fold{fold}.csv", "w", newline="") as f:
    csv.writer(f).writerows([["epoch", "train_loss", "test_loss", "acc"], *rows])
