import argparse
import time
from pathlib import Path

import torch
from torch import nn

from model import Mixer, batch

p = argparse.ArgumentParser()
p.add_argument("--keep", type=int)
p.add_argument("--epochs", type=int)
a = p.parse_args()
g = torch.Generator().manual_seed(0)
torch.manual_seed(0)
net = Mixer()
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
root = Path("scratch")
for epoch in range(1, a.epochs + 1):
    total = 0.0
    for i in range(16):
        x, y = batch(32, g)
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
        time.sleep(0.25)
    old = sorted(root.glob("mixer_*.pt"))
    for path in old[: max(0, len(old) - a.keep + 1)]:
        path.unlink()
    part = root / "part"
    torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "epoch": epoch}, part)
    part.rename(root / f"mixer_{epoch:03d}.pt")
    print(f"[{epoch:02d}/{a.epochs}] loss {total / 16:.4f} ckpt mixer_{epoch:03d}.pt ({len(list(root.glob('*.pt')))} kept)")
