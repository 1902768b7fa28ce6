"""超参数随机搜索 + 中位数剪枝 (学生作业)"""
import os
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

PACE = float(os.environ.get("PACE", 0.8))
torch.set_num_threads(1)
r = np.random.default_rng(12)
x = torch.tensor(r.normal(size=(2400, 12)), dtype=torch.float32)
y = (x[:, 0] * 2 + x[:, 1] * x[:, 2] + torch.sin(3 * x[:, 3]) + 0.2 * torch.tensor(r.normal(size=2400), dtype=torch.float32))[:, None]


class Pruned(Exception):
    pass


history = []


def objective(number, lr, width, opt_name, epochs=20):
    torch.manual_seed(number)
    net = nn.Sequential(nn.Linear(12, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))
    opt = torch.optim.SGD(net.parameters(), lr) if opt_name == "sgd" else torch.optim.Adam(net.parameters(), lr)
    curve = []
    for epoch in range(1, epochs + 1):
        for _ in range(20):
            i = torch.randint(0, 2000, (64,))
            loss = F.mse_loss(net(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
        with torch.no_grad():
            val = F.mse_loss(net(x[2000:]), y[2000:]).item()
        curve.append(val)
        time.sleep(PACE)
        print(f"[试验 {number:02d}] 第 {epoch:2d}/{epochs} 轮  训练损失 {loss.item():.4f}  验证损失 {val:.4f}", flush=True)
        if not np.isfinite(val):
            raise Pruned(f"验证损失为 {val}")
        others = [c[epoch - 1] for c in history if len(c) >= epoch]
        if epoch >= 5 and len(others) >= 3 and val > np.median(others):
            raise Pruned("差于中位数")
    history.append(curve)
    return val


best = (9e9, None)
plan = [(3e-3, 32, "adam"), (1e-2, 32, "adam"), (1e-2, 16, "sgd"), (3e-4, 16, "adam"), (2.0, 64, "sgd"), (1e-2, 64, "adam"),
        (3e-2, 16, "sgd"), (5e-3, 64, "adam"), (1e-3, 32, "sgd"), (8e-3, 96, "adam"), (3.0, 96, "sgd"), (2e-2, 64, "adam"),
        (4e-3, 96, "adam"), (1e-4, 32, "adam"), (6e-3, 96, "adam"), (1e-2, 96, "sgd"), (7e-3, 128, "adam"), (5e-3, 128, "adam"),
        (2e-3, 128, "adam"), (9e-3, 64, "adam"), (6e-3, 128, "adam"), (3e-3, 128, "adam"), (5e-4, 128, "adam"), (8e-3, 128, "adam")]
print(f"开始搜索, 共 {len(plan)} 个试验", flush=True)
for number, (lr, width, opt_name) in enumerate(plan):
    print(f"[试验 {number:02d}] 参数 lr={lr} width={width} opt={opt_name}", flush=True)
    try:
        value = objective(number, lr, width, opt_name)
    except Pruned as why:
        print(f"[试验 {number:02d}] 已剪枝: {why}", flush=True)
        continue
    if value < best[0]:
        best = (value, number)
    print(f"[试验 {number:02d}] 完成, 值 {value:.4f}; 目前最佳: 试验 {best[1]:02d} ({best[0]:.4f})", flush=True)
print(f"搜索结束, 最佳: 试验 {best[1]:02d}, {best[0]:.4f}", flush=True)
