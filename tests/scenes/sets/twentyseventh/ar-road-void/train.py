import os
import pathlib
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_num_threads(1)
PACE = float(os.environ.get("PACE", 0.4))
VAL_EVERY = 20


class Tiles(torch.utils.data.Dataset):
    def __init__(self, split):
        self.files = sorted(pathlib.Path("tiles", split).glob("*.npz"))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        with np.load(self.files[i]) as z:
            return torch.from_numpy(z["image"]).permute(2, 0, 1).float() / 255, torch.from_numpy(z["mask"]).long()


def block(a, b):
    return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU())


class UNet(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        self.d1, self.d2, self.mid = block(3, 8), block(8, 16), block(16, 24)
        self.u2, self.u1 = block(24 + 16, 16), block(16 + 8, 8)
        self.head = nn.Conv2d(8, classes, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        m = self.mid(F.max_pool2d(b, 2))
        b = self.u2(torch.cat([F.interpolate(m, scale_factor=2), b], 1))
        return self.head(self.u1(torch.cat([F.interpolate(b, scale_factor=2), a], 1)))


train = torch.utils.data.DataLoader(Tiles("train"), 8, shuffle=True)
val = torch.utils.data.DataLoader(Tiles("val"), 8)
net = UNet()
opt = torch.optim.AdamW(net.parameters(), 3e-3)
print(f"UNet, {sum(p.numel() for p in net.parameters())} parameters, {len(train)} iterations per epoch", flush=True)
step = 0
for epoch in range(1, 101):
    net.train()
    for x, y in train:
        t = time.time()
        out = net(x)
        loss = F.cross_entropy(out, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        step += 1
        time.sleep(PACE)
        acc = (out.argmax(1) == y).float().mean().item()
        print(f"[epoch {epoch:3d}/100] [iter {step:5d}] loss {loss.item():.4f} pixacc {acc:.4f} ({time.time() - t:.2f} s)", flush=True)
    torch.save(net.state_dict(), "unet_last.pth")
    if epoch % VAL_EVERY == 0:
        print(f"--- validation after epoch {epoch} ---", flush=True)
        net.eval()
        total = 0.0
        with torch.no_grad():
            for x, y in val:
                total += F.cross_entropy(net(x), y).item()
        print(f"val loss {total / len(val):.4f}", flush=True)
