"""Half precision training with dynamic loss scaling (CPU autocast)."""
import csv
import time

import torch
from torch import nn
from torch.amp import GradScaler

torch.manual_seed(2)
net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 1))
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 400)
scaler = GradScaler("cpu", init_scale=2.0 ** 24, growth_interval=60)
w = torch.randn(64, 1)
out = csv.writer(open("history.csv", "w"))
out.writerow(["step", "loss", "grad_norm", "scale"])
skipped = 0
for step in range(1, 401):
    x = torch.randn(32, 64)
    y = (x @ w).tanh() * 3
    with torch.autocast("cpu", dtype=torch.float16):
        pred = net(x)
    loss = nn.functional.mse_loss(pred.float(), y)
    opt.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    gn = nn.utils.clip_grad_norm_(net.parameters(), 5.0).item()
    before = scaler.get_scale()
    scaler.step(opt)
    scaler.update()
    sched.step()
    if scaler.get_scale() < before:
        skipped += 1
        print(f"WARNING: step {step}: gradient overflow (grad norm {gn}), skipping step, "
              f"loss scale {before:.0f} -> {scaler.get_scale():.0f}", flush=True)
    out.writerow([step, round(loss.item(), 5), gn, before])
    if step % 20 == 0:
        print(f"step {step:4d}/400  loss {loss.item():.4f}  grad_norm {gn:.3f}  scale {before:.0f}  skipped {skipped}", flush=True)
    time.sleep(0.2)
torch.save({"net": net.state_dict(), "scaler": scaler.state_dict()}, "half.pt")
print(f"done, {skipped} of 400 steps skipped")
