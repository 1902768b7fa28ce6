"""Nuclei segmentation, tiles streamed slide by slide (one pass over the cohort)."""
import os
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

TILE, BATCH, PER_SLIDE, SLIDES = 32, 6, 40, 11
torch.manual_seed(3)
torch.set_num_threads(1)


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())


class UNet(nn.Module):
    def __init__(self, c=10):
        super().__init__()
        self.a, self.b, self.c = block(1, c), block(c, 2 * c), block(3 * c, c)
        self.out = nn.Conv2d(c, 1, 1)

    def forward(self, x):
        a = self.a(x)
        b = self.b(F.max_pool2d(a, 2))
        return self.out(self.c(torch.cat([a, F.interpolate(b, scale_factor=2)], 1)))


def read_tile(rng, slide):
    """One grey tile (uint8) with its mask; the later slides have more glass around the tissue."""
    glass = max(0.0, 0.05 * (slide - 5))
    if rng.random() < glass:
        # the scanner writes background as flat 241
        return np.full((TILE, TILE), 241, np.uint8), np.zeros((TILE, TILE), np.float32)
    yy, xx = np.mgrid[:TILE, :TILE]
    mask = np.zeros((TILE, TILE), np.float32)
    for _ in range(rng.integers(2, 6)):
        cy, cx, r = rng.integers(3, TILE - 3), rng.integers(3, TILE - 3), rng.uniform(2, 5)
        mask[(yy - cy) ** 2 + (xx - cx) ** 2 < r * r] = 1
    img = 200 - 70 * mask + rng.normal(0, 18, mask.shape)
    return img.clip(0, 255).astype(np.uint8), mask


def whiten(t):
    t = t.astype(np.float32)
    with np.errstate(all="ignore"):
        return (t - t.mean()) / t.std()


def dice_loss(p, m):
    inter = (p * m).sum((1, 2, 3))
    return (1 - (2 * inter + 1) / (p.sum((1, 2, 3)) + m.sum((1, 2, 3)) + 1)).mean()


net = UNet()
opt = torch.optim.AdamW(net.parameters(), 2e-3)
os.makedirs("checkpoints", exist_ok=True)
print(f"UNet, {sum(p.numel() for p in net.parameters())} parameters, {SLIDES} slides x {PER_SLIDE} steps", flush=True)
step = 0
t0 = time.time()
for slide in range(1, SLIDES + 1):
    rng = np.random.default_rng(100 + slide)
    for _ in range(PER_SLIDE):
        tiles = [read_tile(rng, slide) for _ in range(BATCH)]
        x = torch.from_numpy(np.stack([whiten(t) for t, _ in tiles]))[:, None]
        m = torch.from_numpy(np.stack([k for _, k in tiles]))[:, None]
        logit = net(x)
        bce = F.binary_cross_entropy_with_logits(logit, m)
        dice = dice_loss(logit.sigmoid(), m)
        loss = bce + dice
        opt.zero_grad()
        loss.backward()
        opt.step()
        step += 1
        time.sleep(0.22)  # pace of the card
        if step % 5 == 0:
            print(f"slide {slide:2d} | step {step:4d} | loss {loss.item():.4f} | bce {bce.item():.4f} | "
                  f"dice {dice.item():.4f} | {step / (time.time() - t0):.1f} it/s", flush=True)
    torch.save({"net": net.state_dict(), "step": step}, f"checkpoints/slide_{slide:02d}.pt")
    print(f"slide {slide:2d} done, saved checkpoints/slide_{slide:02d}.pt", flush=True)
print("training finished", flush=True)
