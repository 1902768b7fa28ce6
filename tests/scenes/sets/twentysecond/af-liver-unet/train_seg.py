"""Small U-Net on synthetic CT slices, Dice loss, tqdm a case epoch."""
import time

import torch
import torch.nn as nn
from tqdm import tqdm

torch.set_num_threads(1)
torch.manual_seed(0)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU())
        self.b = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.Upsample(scale_factor=2))
        self.c = nn.Conv2d(24, 1, 3, padding=1)

    def forward(self, x):
        a = self.a(x)
        return self.c(torch.cat([a, self.b(a)], 1))


def batch(n=4, s=40):
    yy, xx = torch.meshgrid(torch.arange(s), torch.arange(s), indexing="ij")
    cx, cy, r = (torch.rand(n, 1, 1) * 20 + 10 for _ in range(3))
    m = ((xx - cx) ** 2 + (yy - cy) ** 2 < (r / 2.5) ** 2).float()
    return (m * 0.6 + torch.randn(n, s, s) * 0.5)[:, None], m[:, None]


net = UNet()
opt = torch.optim.Adam(net.parameters(), 3e-3)
best = 0.0
for epoch in range(1, 21):
    bar = tqdm(range(40), desc=f"epoch {epoch:02d}", mininterval=1.5, ascii=True)
    for _ in bar:
        x, m = batch()
        p = torch.sigmoid(net(x))
        dice = (2 * (p * m).sum() + 1) / (p.sum() + m.sum() + 1)
        opt.zero_grad()
        (1 - dice).backward()
        opt.step()
        bar.set_postfix(dice=f"{dice.item():.3f}")
        time.sleep(0.3)
    with torch.no_grad():
        x, m = batch(32)
        p = (net(x) > 0).float()
        val = ((2 * (p * m).sum() + 1) / (p.sum() + m.sum() + 1)).item()
    print(f"epoch {epoch:02d} val_dice {val:.4f}" + (" *" if val > best else ""), flush=True)
    if val > best:
        best = val
    torch.save({"net": net.state_dict(), "epoch": epoch, "dice": val}, "unet_last.pth")
