import torch
from torch import nn
from minifit import Learner

LR = 0.3
torch.manual_seed(3)
C, D = 10, 32
centers = torch.randn(C, D) * 1.1
y = torch.randint(0, C, (1600,))
x = centers[y] + torch.randn(1600, D)
split = lambda a, b: list(zip(a.split(32), b.split(32)))
dls = split(x[:1280], y[:1280]), split(x[1280:], y[1280:])

body = nn.Sequential(nn.Linear(D, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU())
head = nn.Linear(64, C)
learn = Learner(body, head, dls, lr=LR)
print("stage 1: head only, lr", LR, flush=True)
print("epoch  train_loss   valid_loss   accuracy   time", flush=True)
learn.freeze()
learn.fit(10, 1e-2)
print("stage 2: unfreezing everything, lr", LR, flush=True)
learn.unfreeze()
learn.fit(22)
torch.save([body.state_dict(), head.state_dict()], "export.pth")
print("exported export.pth")
