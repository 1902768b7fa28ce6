import json
import sys
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Clips(Dataset):
    def __init__(self, root):
        self.paths = sorted(Path(root).glob("*.f32"))
        self.maps = {}

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        if i not in self.maps:
            self.maps[i] = np.memmap(self.paths[i], dtype=np.float32, mode="r")
        return torch.from_numpy(np.array(self.maps[i]))[None], int(self.paths[i].stem[-1])


def emit(**kw):
    json.dump({"ts": round(time.time(), 2), **kw}, sys.stdout)
    sys.stdout.write("\n")


torch.manual_seed(0)
loader = DataLoader(Clips("clips"), batch_size=4, shuffle=True)
net = nn.Sequential(nn.Conv1d(1, 12, 25, 4), nn.ReLU(), nn.Conv1d(12, 16, 9, 2), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(16, 5))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
emit(event="start", clips=len(loader.dataset), batches=len(loader))
for epoch in range(3):
    for step, (x, y) in enumerate(loader):
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.45)
        if step % 3 == 0:
            emit(event="step", epoch=epoch, step=step, loss=round(loss.item(), 4), acc=round((net(x).argmax(1) == y).float().mean().item(), 3))
    torch.save(net.state_dict(), f"clips_e{epoch}.pt")
    emit(event="saved", epoch=epoch)
