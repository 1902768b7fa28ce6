import os
import signal
import sys
import time

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(3)
stop = False


def on_usr1(sig, frame):
    global stop
    stop = True
    print("caught SIGUSR1, will save and leave after this step", flush=True)


signal.signal(signal.SIGUSR1, on_usr1)
open("sonar.pid", "w").write(str(os.getpid()))
net = nn.Sequential(nn.Conv1d(1, 12, 9, 4), nn.ReLU(), nn.Conv1d(12, 12, 5, 2), nn.ReLU(), nn.Flatten(), nn.LazyLinear(1))
f = torch.linspace(0, 1, 128)


def pings(n):
    d = torch.rand(n, 1)
    x = torch.exp(-((f - d * 0.8 - 0.1) ** 2) / 0.0006) + 0.2 * torch.randn(n, 128)
    return x[:, None], d * 4.0


net(pings(2)[0])
opt = torch.optim.AdamW(net.parameters(), 1e-3)
start = 0
if os.path.exists("last.ckpt"):
    z = torch.load("last.ckpt")
    net.load_state_dict(z["net"])
    opt.load_state_dict(z["opt"])
    start = z["it"]
    print(f"resumed from last.ckpt at iteration {start}", flush=True)


def save(it):
    torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "it": it}, "last.tmp")
    os.replace("last.tmp", "last.ckpt")


for it in range(start + 1, 601):
    x, y = pings(24)
    loss = nn.functional.smooth_l1_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.07)
    if it % 15 == 0:
        print(f"it {it:4d}/600  huber {loss.item():.4f} km", flush=True)
    if it % 100 == 0 or stop:
        save(it)
    if stop:
        print(f"saved last.ckpt at iteration {it}", flush=True)
        sys.exit(85)
print("depth estimator trained, 600 iterations", flush=True)
