# -*- coding: utf-8 -*-
"""图像检索: 先用分类预训练, 再用三元组损失微调 (混合精度)."""
import time

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(2)
C = 12
CENTERS = torch.randn(C, 32)


def batch(n=24):
    y = torch.randint(0, C, (n,))
    return CENTERS[y] + 0.9 * torch.randn(n, 32), y


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32))
        self.head = nn.Linear(32, C)

    def forward(self, x):
        z = self.body(x)
        return nn.functional.normalize(z.float(), dim=1), self.head(z)


def triplet(z, y, margin=0.6):
    d = (z[:, None] - z[None]).pow(2).sum(-1).sqrt()
    same = y[:, None] == y[None]
    hardest_pos = d.masked_fill(~same, -1).amax(1)
    hardest_neg = d.masked_fill(same, 9).amin(1)
    return (hardest_pos - hardest_neg + margin).relu().mean() + 0.05 * d.mean()


def main():
    net = Net()
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=200)
    print("开始训练: 第一阶段 (分类)", flush=True)
    t = time.time()
    for step in range(1, 601):
        if step == 81:
            print("进入第二阶段 (三元组损失)", flush=True)
        x, y = batch()
        with torch.autocast("cpu", dtype=torch.float16):
            z, logits = net(x)
            loss = nn.functional.cross_entropy(logits.float(), y) if step <= 80 else triplet(z, y)
        opt.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        gn = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(opt)
        scaler.update()
        time.sleep(0.3)
        if step % 5 == 0:
            print(f"步 {step:4d}/600  损失 {loss.item():.4f}  梯度范数 {gn.item():.3f}  缩放 {scaler.get_scale():.3g}  用时 {time.time() - t:.0f}秒", flush=True)
        if step % 100 == 0:
            torch.save(net.state_dict(), f"retrieval_{step}.pth")
            print(f"已保存 retrieval_{step}.pth", flush=True)
    print("训练结束", flush=True)


main()
