import argparse

import numpy as np
import torch
from sklearn.metrics import classification_report
from torch import nn

p = argparse.ArgumentParser()
p.add_argument("--data")
p.add_argument("--weights")
a = p.parse_args()
d = np.load(a.data)
net = nn.Sequential(nn.Linear(30, 32), nn.ReLU(), nn.Linear(32, 4))
net.load_state_dict(torch.load(a.weights))
print(classification_report(d["y"], net(torch.tensor(d["x"])).argmax(1).numpy(), digits=3))
