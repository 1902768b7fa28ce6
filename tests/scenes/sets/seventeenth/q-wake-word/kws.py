import sys
import time

import torch
from torch import nn
from tqdm import tqdm

torch.set_num_threads(1)
torch.manual_seed(1)
CLASSES = 12
proto = torch.randn(CLASSES, 20, 12)


def clip(n):
    y = torch.randint(0, CLASSES, (n,))
    heard = torch.where(torch.rand(n) < 0.1, torch.randint(0, CLASSES, (n,)), y)
    return 0.4 * proto[heard] + 1.2 * torch.randn(n, 20, 12), y


net = nn.Sequential(nn.Conv1d(12, 24, 5), nn.ReLU(), nn.Flatten(), nn.Linear(24 * 16, CLASSES))
opt = torch.optim.SGD(net.parameters(), 0.01, momentum=0.9)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**24, growth_interval=60)
bar = tqdm(range(1, 401), desc="kws", file=sys.stderr, mininterval=1)
skipped = 0
for step in bar:
    x, y = clip(32)
    with torch.autocast("cpu", dtype=torch.float16):
        loss = nn.functional.cross_entropy(net(x.transpose(1, 2)).float(), y)
    opt.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    norm = nn.utils.clip_grad_norm_(net.parameters(), 10.0)
    before = scaler.get_scale()
    scaler.step(opt)
    scaler.update()
    if scaler.get_scale() < before:
        skipped += 1
        tqdm.write(f"Gradient overflow (grad_norm={norm:.3g}).  Skipping step, loss scaler 0 reducing loss scale to {scaler.get_scale()}")
    bar.set_postfix(loss=f"{loss.item():.3f}", scale=f"{scaler.get_scale():.0f}")
    time.sleep(0.13)
    if step % 50 == 0:
        x, y = clip(256)
        with torch.no_grad():
            acc = (net(x.transpose(1, 2)).argmax(1) == y).float().mean().item()
        tqdm.write(f"eval step {step}: acc {acc:.4f} skipped {skipped}")
torch.save(net.state_dict(), "kws.pt")
