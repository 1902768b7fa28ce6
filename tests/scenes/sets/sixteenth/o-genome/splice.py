"""Splice site CNN. The partition gives 25 min slices; on SIGUSR1 the state is written and the job asks for the next slice (exit 85)."""
import os
import signal
import sys
import time

import torch
from torch import nn

asked = False


def on_slice_end(signum, frame):
    global asked
    asked = True
    print(f"slurmstepd: signal {signal.Signals(signum).name} received, slice ends soon", flush=True)


signal.signal(signal.SIGUSR1, on_slice_end)
with open("splice.pid", "w") as f:
    f.write(str(os.getpid()))
torch.set_num_threads(1)
net = nn.Sequential(nn.Conv1d(4, 24, 9, padding=4), nn.ReLU(), nn.AdaptiveMaxPool1d(4), nn.Flatten(), nn.Linear(96, 3))
opt = torch.optim.AdamW(net.parameters(), lr=1.5e-3)
step = 0
if os.path.exists("splice.pt"):
    state = torch.load("splice.pt")
    net.load_state_dict(state["net"])
    opt.load_state_dict(state["opt"])
    step = state["step"]
    print(f"continuing at step {step}", flush=True)
g = torch.Generator().manual_seed(1000 + step)
GT = torch.tensor([[0, 0, 1, 0], [0, 0, 0, 1.0]]).T
AG = torch.tensor([[1.0, 0, 0, 0], [0, 0, 1, 0]]).T


def reads(n):
    seq = nn.functional.one_hot(torch.randint(0, 4, (n, 60), generator=g), 4).float().transpose(1, 2)
    y = torch.randint(0, 3, (n,), generator=g)
    seq[y == 1, :, 28:30] = GT * 1.5
    seq[y == 2, :, 28:30] = AG * 1.5
    return seq, y


while step < 380:
    x, y = reads(32)
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    step += 1
    time.sleep(0.15)
    if step % 20 == 0:
        print(f"step {step}/380 ce {loss.item():.4f}", flush=True)
    if asked:
        torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "step": step}, "splice.pt.part")
        os.replace("splice.pt.part", "splice.pt")
        print(f"state of step {step} written, asking for requeue", flush=True)
        sys.exit(85)
torch.save(net.state_dict(), "splice_final.pt")
print("380 steps complete", flush=True)
