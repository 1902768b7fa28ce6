from pathlib import Path
import time

import torch

from model import Mixer, batch

net = Mixer()
path = max(Path("scratch").glob("mixer_*.pt"))
net.load_state_dict(torch.load(path)["net"])
net.eval()
g = torch.Generator().manual_seed(99)
hits = seen = 0
with torch.no_grad():
    for n in range(12):
        x, y = batch(64, g)
        hits += (net(x).argmax(1) == y).sum().item()
        seen += len(y)
        time.sleep(0.4)
        print(f"eval {n + 1}/12 acc {hits / seen:.4f}")
print(f"{path.name}: accuracy {hits / seen:.4f} on {seen} samples")
