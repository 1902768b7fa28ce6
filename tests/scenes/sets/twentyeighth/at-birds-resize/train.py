"""Bird families, progressive resizing: small pictures first, then larger ones."""
import os
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from tqdm import tqdm

SLOW = float(os.environ.get("SLOW", "1"))
torch.set_num_threads(1)
torch.manual_seed(0)
rng = np.random.default_rng(0)
N, VAL, K, FULL = 640, 120, 6, 64


def pictures(n):
    y = rng.integers(0, K, n)
    yy, xx = np.mgrid[0:FULL, 0:FULL] / FULL - 0.5
    x = rng.normal(0.5, 0.35, (n, 3, FULL, FULL)).astype(np.float32)
    for i, k in enumerate(y):
        a, cx, cy = rng.uniform(0, np.pi), *rng.uniform(-.15, .15, 2)
        u, v = (xx - cx) * np.cos(a) + (yy - cy) * np.sin(a), -(xx - cx) * np.sin(a) + (yy - cy) * np.cos(a)
        body = (u / .32) ** 2 + (v / (.08 + .05 * (k % 3))) ** 2 < 1
        stripe = body & (np.sin(u * 60) > 0)
        x[i, k // 3, body] += 0.3
        x[i, 2, stripe] -= 0.3 * (k % 2)
    return torch.from_numpy(x), torch.from_numpy(y)


x, y = pictures(N)
wrong = torch.from_numpy(rng.random(N) < 0.1)  # the labels are from a phone app: a tenth is wrong
y[wrong] = torch.from_numpy(rng.integers(0, K, int(wrong.sum())))
vx, vy = pictures(VAL)


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, stride=2), nn.BatchNorm2d(o), nn.ReLU())


net = nn.Sequential(block(3, 16), block(16, 32), block(32, 48), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(48, K))
opt = torch.optim.AdamW(net.parameters(), 2e-3)
for size, epochs in [(24, 8), (32, 5), (48, 3), (64, 3)]:
    for g in opt.param_groups:
        g["lr"] = 2e-3
    print(f"--- now {size}x{size}, {epochs} epochs", flush=True)
    xs, vs = (F.interpolate(t, size=(size, size), mode="area") for t in (x, vx))
    for epoch in range(1, epochs + 1):
        net.train()
        bar = tqdm(torch.from_numpy(rng.permutation(N)).split(32), desc=f"{size}px {epoch}/{epochs}", mininterval=0.5, ncols=90)
        for b in bar:
            loss = F.cross_entropy(net(xs[b]), y[b])
            opt.zero_grad()
            loss.backward()
            opt.step()
            bar.set_postfix(loss=f"{loss.item():.4f}")
            time.sleep(0.16 * SLOW * (size / 24) ** 2)
        net.eval()
        with torch.no_grad():
            out = net(vs)
        print(f"{size}px epoch {epoch}: val_loss {F.cross_entropy(out, vy):.4f} val_acc {(out.argmax(1) == vy).float().mean():.3f}", flush=True)
    torch.save(net.state_dict(), f"birds_{size}.pt")
    print(f"saved birds_{size}.pt", flush=True)
print("finished", flush=True)
