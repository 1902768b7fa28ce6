import argparse
import sys
import time

import torch
from torch import nn

sys.stdout.reconfigure(line_buffering=True)
ap = argparse.ArgumentParser()
ap.add_argument("--epochs", type=int, default=40)
ap.add_argument("--iters", type=int, default=25)
args = ap.parse_args()
torch.manual_seed(0)
torch.set_num_threads(1)


class UNet(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(2, c, 3, padding=1), nn.SiLU(), nn.Conv2d(c, 2 * c, 3, 2, 1), nn.SiLU())
        self.mid = nn.Sequential(nn.Conv2d(2 * c, 2 * c, 3, padding=1), nn.SiLU())
        self.up = nn.Sequential(nn.ConvTranspose2d(2 * c, c, 2, 2), nn.SiLU())
        self.out = nn.Conv2d(c + 2, 1, 3, padding=1)

    def forward(self, x):
        return self.out(torch.cat([self.up(self.mid(self.down(x))), x], 1))


def batch(n=8, m=24):
    k = torch.fft.fftfreq(m)
    amp = 1 / (0.02 + k[:, None] ** 2 + k[None] ** 2) ** 1.2
    psi = torch.fft.ifft2(torch.fft.fft2(torch.randn(n, m, m)) * amp).real
    psi = psi / psi.std()
    u, v = torch.gradient(psi, dim=(1, 2))
    return torch.stack([u, v], 1), psi[:, None]


net = UNet()
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
print(f"UNet {sum(p.numel() for p in net.parameters()) / 1e3:.1f}k params; {args.epochs} epochs of {args.iters} iterations")
best = float("inf")
for epoch in range(args.epochs):
    t0, total = time.time(), 0.0
    for it in range(args.iters):
        uv, psi = batch()
        loss = nn.functional.mse_loss(net(uv), psi)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
        time.sleep(0.1)
    with torch.no_grad():
        uv, psi = batch(32)
        val = nn.functional.mse_loss(net(uv), psi).item()
    print(f"[{time.strftime('%H:%M:%S')}] epoch {epoch:02d} train {total / args.iters:.4f} val {val:.4f} ({time.time() - t0:.1f}s/epoch)")
    best = min(best, val)
torch.save(net.state_dict(), "ocean_unet.pt")
print(f"done, best val {best:.4f}, weights in ocean_unet.pt")
