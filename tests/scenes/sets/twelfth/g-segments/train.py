import argparse
import os
import signal
import sys
import time

import torch
from torch import nn

torch.set_num_threads(1)
p = argparse.ArgumentParser()
p.add_argument("--budget", type=int, default=90, help="steps in this allocation")
p.add_argument("--total", type=int, default=260)
p.add_argument("--state", default="state/last.pt")
a = p.parse_args()
os.makedirs("state", exist_ok=True)

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(20, 64), nn.Tanh(), nn.Linear(64, 5))
truth = torch.randn(20, 5)
opt = torch.optim.AdamW(net.parameters(), 2e-3)
first = 0
if os.path.exists(a.state):
    state = torch.load(a.state)
    net.load_state_dict(state["net"])
    opt.load_state_dict(state["opt"])
    first = state["step"]
    print(f"resumed from {a.state} at step {first}")
else:
    print("no checkpoint found, starting from scratch")
stop = False


def on_term(*_):
    global stop
    stop = True


def save(step):
    torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "step": step}, a.state + ".part")
    os.replace(a.state + ".part", a.state)


signal.signal(signal.SIGTERM, on_term)
torch.manual_seed(first)
for step in range(first + 1, a.total + 1):
    x = torch.randn(64, 20)
    y = (x @ truth).argmax(1)
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
    time.sleep(0.15)
    if step % 5 == 0:
        print(f"step {step}/{a.total}  loss={loss.item():.4f}")
    if step < a.total and (stop or step - first >= a.budget):
        save(step)
        print(f"budget of this allocation reached at step {step}, state saved, leaving")
        sys.exit(75)
save(a.total)
print("all steps done")
