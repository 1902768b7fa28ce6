import argparse
import os
import signal
import sys
import time

import torch
from torch import nn

ap = argparse.ArgumentParser()
ap.add_argument("--steps", type=int)
ap.add_argument("--state")
a = ap.parse_args()
stop = []
signal.signal(signal.SIGUSR1, lambda s, f: stop.append(s))

torch.manual_seed(9)
mix = torch.randn(6, 40)
net = nn.Sequential(nn.Linear(40, 32), nn.GELU(), nn.Linear(32, 6), nn.Linear(6, 32), nn.GELU(), nn.Linear(32, 40))
opt = torch.optim.AdamW(net.parameters(), lr=1.5e-3)
start = 0
if os.path.exists(a.state):
    s = torch.load(a.state)
    net.load_state_dict(s["net"])
    opt.load_state_dict(s["opt"])
    start = s["step"]
    print(f"resumed from {a.state} at step {start}")
else:
    print("no state file, starting from scratch")


def save(step):
    torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "step": step}, a.state + ".tmp")
    os.replace(a.state + ".tmp", a.state)


g = torch.Generator().manual_seed(start)
run = 0.0
for step in range(start + 1, a.steps + 1):
    x = torch.randn(64, 6, generator=g).tanh() @ mix
    loss = nn.functional.mse_loss(net(x), x)
    opt.zero_grad()
    loss.backward()
    opt.step()
    run += loss.item()
    time.sleep(0.08)
    if step % 25 == 0:
        print(f"step {step}/{a.steps}  recon {run / 25:.5f}", flush=True)
        run = 0.0
    if step % 100 == 0:
        save(step)
    if stop:
        print(f"Received signal {signal.Signals(stop[0]).name} at step {step}: time limit, saving state and exiting")
        save(step)
        sys.exit(85)
save(a.steps)
torch.save(net[:3].state_dict(), "encoder.pt")
print("training complete, encoder.pt written")
