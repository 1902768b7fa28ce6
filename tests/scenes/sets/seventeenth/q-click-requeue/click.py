import argparse
import glob
import signal
import sys
import time

import torch
from torch import nn

p = argparse.ArgumentParser()
p.add_argument("--budget", type=float)
p.add_argument("--steps", type=int, default=360)
args = p.parse_args()
end = time.time() + args.budget
stop = False


def on_usr1(*_):
    global stop
    stop = True


signal.signal(signal.SIGUSR1, on_usr1)
torch.set_num_threads(1)
torch.manual_seed(0)
w = torch.randn(24)
net = nn.Sequential(nn.Linear(24, 48), nn.ReLU(), nn.Linear(48, 1))
opt = torch.optim.Adam(net.parameters(), 2e-3)
step = 0
if found := sorted(glob.glob("ckpt/step_*.pt")):
    state = torch.load(found[-1])
    net.load_state_dict(state["net"])
    opt.load_state_dict(state["opt"])
    step = state["step"]
    print(f"I restored {found[-1]}")


def save():
    torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "step": step}, f"ckpt/step_{step:06d}.pt")
    print(f"I saved ckpt/step_{step:06d}.pt")


while step < args.steps:
    x = torch.randn(64, 24)
    y = (x @ w > 0).float()[:, None]
    loss = nn.functional.binary_cross_entropy_with_logits(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    step += 1
    time.sleep(0.13)
    if step % 10 == 0:
        print(f"I step={step} loss={loss.item():.5f}")
    if step % 60 == 0:
        save()
    if stop or time.time() > end:
        save()
        print("W budget of this slice used up, leaving with code 75")
        sys.exit(75)
save()
print("I training complete")
