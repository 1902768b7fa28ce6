"""Duration predictor of a small TTS. Restarts are handled by supervise.sh."""
import argparse
import datetime
import pathlib
import time
import os

import torch
import torch.nn as nn

ap = argparse.ArgumentParser()
ap.add_argument("--name", default="debug")
ap.add_argument("--steps", type=int, default=230)
ap.add_argument("--save-every", type=int, default=40)
args = ap.parse_args()
open("train.pid", "w").write(str(os.getpid()))

torch.manual_seed(0)
run_dir = pathlib.Path("runs") / f"{args.name}-{datetime.datetime.now():%Y%m%d-%H%M%S}"
run_dir.mkdir(parents=True, exist_ok=True)

emb = nn.Embedding(40, 32)
net = nn.GRU(32, 48, batch_first=True, bidirectional=True)
head = nn.Linear(96, 1)
mods = nn.ModuleList([emb, net, head])
opt = torch.optim.Adam(mods.parameters(), 2e-3)
table = torch.rand(40) * 3

step = 0
found = sorted(run_dir.glob("step_*.pt"))
if found:
    ck = torch.load(found[-1])
    mods.load_state_dict(ck["mods"])
    opt.load_state_dict(ck["opt"])
    step = ck["step"]
    print(f"resumed from {found[-1]} at step {step}", flush=True)
else:
    print(f"run dir {run_dir}, no checkpoint there, starting at step 0", flush=True)

while step < args.steps:
    ph = torch.randint(0, 40, (16, 20))
    dur = table[ph] + 0.5 * table[ph.roll(1, 1)] + 0.1 * torch.randn(16, 20)
    h, _ = net(emb(ph))
    loss = (head(h)[..., 0] - dur).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    step += 1
    time.sleep(0.26)
    if step % 10 == 0:
        print(f"step={step} dur_loss={loss.item():.4f} lr={opt.param_groups[0]['lr']:.1e}", flush=True)
    if step % args.save_every == 0:
        torch.save({"mods": mods.state_dict(), "opt": opt.state_dict(), "step": step}, run_dir / f"step_{step:06d}.pt")
        print(f"saved {run_dir}/step_{step:06d}.pt", flush=True)
print(f"training complete: step={step} dur_loss={loss.item():.4f}", flush=True)
