import argparse
import json
import time

import torch
from torch import nn

ap = argparse.ArgumentParser()
ap.add_argument("--lr", type=float)
ap.add_argument("--width", type=int)
a = ap.parse_args()
torch.manual_seed(0)
x = torch.randn(1200, 12)
y = torch.sin(x[:, :1] * 2) + x[:, 1:2] * x[:, 2:3]
net = nn.Sequential(nn.Linear(12, a.width), nn.ReLU(), nn.Linear(a.width, a.width), nn.ReLU(), nn.Linear(a.width, 1))
opt = torch.optim.SGD(net.parameters(), lr=a.lr)
for epoch in range(10):
    for part in torch.randperm(1000).split(50):
        loss = nn.functional.mse_loss(net(x[part]), y[part])
        opt.zero_grad(), loss.backward(), opt.step()
        time.sleep(0.03)
    with torch.no_grad():
        v = nn.functional.mse_loss(net(x[1000:]), y[1000:]).item()
    print(json.dumps({"epoch": epoch, "val_loss": v}))
