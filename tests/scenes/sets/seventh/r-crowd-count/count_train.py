# 人群计数模型训练
import argparse
import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class CrowdPatches(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        img = torch.rand(1, 24, 24, generator=g)
        density = img.mean().reshape(1) * 100
        return img, density


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(128, 1))

    def forward(self, x):
        return self.body(x) * 50


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=5)
    ap.add_argument("--workers", type=int, default=2)
    a = ap.parse_args()
    torch.manual_seed(0)
    loader = DataLoader(CrowdPatches(800), batch_size=8, num_workers=a.workers, shuffle=True)
    net = Counter()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    print(f"开始训练:共 {a.epochs} 轮,每轮 {len(loader)} 步,数据进程 {a.workers} 个", flush=True)
    seen_targets, seen_preds = [], []      # 用于最后统计 MAE
    step = 0
    for ep in range(a.epochs):
        for img, dens in loader:
            t = time.time()
            pred = net(img)
            loss = (pred - dens).abs().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            seen_targets.append(dens)
            seen_preds.append(pred.detach())
            time.sleep(0.25)
            step += 1
            if step % 10 == 0:
                print(f"第 {ep + 1} 轮  第 {step} 步  损失 {loss.item():.3f}  用时 {time.time() - t:.2f} 秒/步", flush=True)
        mae = (torch.cat(seen_targets) - torch.cat(seen_preds)).abs().mean()
        print(f"第 {ep + 1} 轮结束,平均绝对误差 {mae:.3f}", flush=True)
        torch.save(net.state_dict(), f"counter_ep{ep + 1}.pt")


if __name__ == "__main__":
    sys.exit(main())
