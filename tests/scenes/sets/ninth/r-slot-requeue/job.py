import os
import signal
import sys
import time

import torch
from torch import nn

STOP = False


def on_term(signum, frame):
    global STOP
    STOP = True
    print("got SIGTERM, will save after this step", flush=True)


signal.signal(signal.SIGTERM, on_term)
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(20, 40), nn.GELU(), nn.Linear(40, 20))
opt = torch.optim.Adam(net.parameters(), 1e-3)
mix = torch.randn(20, 20, generator=torch.Generator().manual_seed(3)) / 5
first = 0
if os.path.exists("last.pt"):
    s = torch.load("last.pt")
    net.load_state_dict(s["net"])
    opt.load_state_dict(s["opt"])
    first = s["step"]
print(f"slot {os.environ.get('SLOT', '?')}: from step {first}", flush=True)


def save(step):
    torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "step": step}, "last.pt.new")
    os.replace("last.pt.new", "last.pt")
    print(f"saved step {step}", flush=True)


for step in range(first + 1, 301):
    x = torch.randn(32, 20, generator=torch.Generator().manual_seed(step))
    loss = (net(x) - torch.tanh(x @ mix)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.16)
    if step % 10 == 0:
        print(f"step {step}/300 mse={loss.item():.5f}", flush=True)
    if STOP:
        save(step)
        sys.exit(75)
save(300)
