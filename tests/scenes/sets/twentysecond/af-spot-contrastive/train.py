"""SimCLR toy with clean spot handling: TERM saves and leaves, the next launch goes on where it was."""
import os
import signal
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(5)
enc = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 16))
opt = torch.optim.Adam(enc.parameters(), 1e-3)
TOTAL, step = 300, 0
if os.path.exists("simclr.pt"):
    d = torch.load("simclr.pt")
    enc.load_state_dict(d["enc"])
    opt.load_state_dict(d["opt"])
    step = d["step"]
    print(f"resumed from simclr.pt at step {step}", flush=True)
flag = []
signal.signal(signal.SIGTERM, lambda *a: flag.append(a))


def save():
    torch.save({"enc": enc.state_dict(), "opt": opt.state_dict(), "step": step}, "simclr.pt.tmp")
    os.replace("simclr.pt.tmp", "simclr.pt")
    print(f"saved simclr.pt step {step}", flush=True)


while step < TOTAL:
    base = torch.randn(64, 24)
    a, b = (F.normalize(enc(base + 0.3 * torch.randn_like(base)), dim=1) for _ in range(2))
    loss = F.cross_entropy(a @ b.T / 0.2, torch.arange(64))
    opt.zero_grad()
    loss.backward()
    opt.step()
    step += 1
    time.sleep(0.3)
    if step % 5 == 0:
        print(f"step {step}/{TOTAL} nt_xent={loss.item():.4f}", flush=True)
    if step % 50 == 0:
        save()
    if flag:
        print("SIGTERM received: spot interruption, saving and leaving", flush=True)
        save()
        sys.exit(143)
save()
print("training finished", flush=True)
