"""Temporal conv net for demand series; leaves in good order when the box is reclaimed."""
import os
import signal
import sys
import time

import torch
from torch import nn

torch.set_num_threads(1)
open("train.pid", "w").write(str(os.getpid()))
leave = False


def on_term(sig, frame):
    global leave
    leave = True


signal.signal(signal.SIGTERM, on_term)
net = nn.Sequential(nn.Conv1d(3, 24, 5, dilation=1), nn.ReLU(), nn.Conv1d(24, 24, 5, dilation=4), nn.ReLU(),
                    nn.Conv1d(24, 1, 5, dilation=6))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
step = 0
if os.path.exists("state.pt"):
    s = torch.load("state.pt")
    net.load_state_dict(s["net"])
    opt.load_state_dict(s["opt"])
    step = s["step"]
    print(f"resuming at step {step}", flush=True)


def save():
    torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "step": step}, "state.tmp")
    os.replace("state.tmp", "state.pt")
    print(f"state.pt saved at step {step}", flush=True)


while step < 340:
    t = torch.rand(16, 1) * 50 + torch.arange(80)
    x = torch.stack([torch.sin(t / 4), torch.cos(t / 9), torch.sin(t / 4) * torch.cos(t / 9) + 0.1 * torch.randn_like(t)], 1)
    p = net(x[..., :-1])
    loss = nn.functional.mse_loss(p[:, 0], x[:, 2, -p.shape[-1]:])
    opt.zero_grad()
    loss.backward()
    opt.step()
    step += 1
    time.sleep(0.25)
    if step % 10 == 0:
        print(f"step {step}/340 mse {loss.item():.5f}", flush=True)
    if step % 60 == 0:
        save()
    if leave:
        print("SIGTERM received: saving and leaving, the supervisor will start me again", flush=True)
        save()
        sys.exit(75)
torch.save(net.state_dict(), "model.pt")
print("training complete, model.pt written", flush=True)
