import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from tqdm import tqdm


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("--fold", type=int, required=True)
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--out", type=Path, default=Path("results"))
    return p.parse_args()


def polyps(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = (torch.rand(n, 1, 24, 24, generator=g) > 0.97).float()
    y = F.max_pool2d(y, 5, stride=1, padding=2)
    return y + 0.3 * torch.randn(y.shape, generator=g), y


def iou_per_image(logits, y):
    p = (logits > 0).float()
    inter = (p * y).flatten(1).sum(1)
    union = ((p + y) > 0).float().flatten(1).sum(1)
    return (inter / union.clamp(min=1)).numpy()


def main():
    a = arguments()
    a.out.mkdir(exist_ok=True)
    torch.manual_seed(a.fold)
    net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 3, padding=1))
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    x, y = polyps(320, a.fold)
    vx, vy = polyps(64, 100 + a.fold)
    for epoch in range(a.epochs):
        bar = tqdm(range(0, len(x), 8), desc=f"fold {a.fold} epoch {epoch}", ascii=True, mininterval=1)
        for k in bar:
            loss = F.binary_cross_entropy_with_logits(net(x[k:k + 8]), y[k:k + 8])
            opt.zero_grad()
            loss.backward()
            opt.step()
            time.sleep(0.35)
            bar.set_postfix(loss=f"{loss.item():.4f}")
    with torch.no_grad():
        iou = iou_per_image(net(vx), vy)
    report = {
        "fold": a.fold,
        "iou_mean": round(float(np.mean(iou)), 4),
        "iou_worst": iou.min(),
        "images": len(iou),
    }
    print(f"fold {a.fold}: mean IoU {report['iou_mean']}")
    with open(a.out / f"fold{a.fold}.json", "w") as f:
        json.dump(report, f, indent=1)
    torch.save(net.state_dict(), a.out / f"fold{a.fold}.pt")


main()
