import time
import urllib.request
from collections import deque

import numpy as np
import torch
import torch.nn as nn

URL = "http://127.0.0.1:8791/patch?seed="
TOTAL = 4000


class SmoothedValue:
    def __init__(self):
        self.q = deque(maxlen=20)

    def add(self, v):
        self.q.append(v)

    @property
    def avg(self):
        return sum(self.q) / len(self.q)


def fetch(i):
    raw = urllib.request.urlopen(URL + str(i)).read()
    x = np.frombuffer(raw, np.float32, 32 * 64).reshape(32, 64).copy()
    y = np.frombuffer(raw, np.int64, 32, offset=32 * 64 * 4).copy()
    return torch.from_numpy(x), torch.from_numpy(y)


torch.manual_seed(0)
torch.set_num_threads(1)
net = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 5))
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
meters = {k: SmoothedValue() for k in ("loss", "time", "data")}
for it in range(TOTAL):
    t0 = time.time()
    x, y = fetch(it)
    meters["data"].add(time.time() - t0)
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.05)
    meters["loss"].add(loss.item())
    meters["time"].add(time.time() - t0)
    if it % 10 == 0:
        m = {k: v.avg for k, v in meters.items()}
        eta = int((TOTAL - it) * m["time"])
        print(f"Train: [{it:>4}/{TOTAL}]  eta: {eta // 3600}:{eta // 60 % 60:02d}:{eta % 60:02d}  loss: {loss.item():.4f} ({m['loss']:.4f})  time: {m['time']:.4f}  data: {m['data']:.4f}", flush=True)
    if it % 200 == 199:
        torch.save(net.state_dict(), "ckpt.pth")
