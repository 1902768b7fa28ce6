import argparse
import os
import signal
import sys
import time

import torch
from torch import nn

p = argparse.ArgumentParser()
p.add_argument("--steps", type=int)
a = p.parse_args()
stop = False


def on_term(*_):
    global stop
    stop = True


signal.signal(signal.SIGTERM, on_term)
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, 6))
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
w = torch.randn(40, 6, generator=torch.Generator().manual_seed(5))
first = 0
if os.path.exists("state.pt"):
    s = torch.load("state.pt")
    net.load_state_dict(s["net"])
    opt.load_state_dict(s["opt"])
    first = s["step"]
    print(f"resumed from state.pt at step {first}")


def save(step):
    torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "step": step}, "state.tmp")
    os.replace("state.tmp", "state.pt")


for step in range(first + 1, a.steps + 1):
    x = torch.randn(32, 40)
    loss = nn.functional.cross_entropy(net(x), (x @ w).argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.28)
    if step % 10 == 0:
        print(f"step {step}/{a.steps} | loss {loss.item():.4f}")
    if stop:
        save(step)
        print(f"SIGTERM received, state saved at step {step}, leaving")
        sys.exit(0)
save(a.steps)
print("all steps done")
