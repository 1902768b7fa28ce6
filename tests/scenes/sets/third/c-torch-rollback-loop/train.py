# 回归模型训练，带损失突增保护：突增时回滚到最近的检查点
import os
import time

import torch
from torch import nn

总步数 = 3000
保存间隔 = 20
torch.manual_seed(2)
真实 = torch.randn(24, 1)


def 取批次(步):
    g = torch.Generator().manual_seed(1000 + 步)
    x = torch.randn(64, 24, generator=g)
    y = x @ 真实 + 0.1 * torch.randn(64, 1, generator=g)
    if 步 == 117:                      # 这个分片在采集时单位写错（毫米当成米）
        y = y * 1000.0
    time.sleep(0.25)
    return x, y


def 保存(步, 模型, 优化器, 均值):
    torch.save({"step": 步, "model": 模型.state_dict(), "opt": 优化器.state_dict(), "ema": 均值}, "ckpt.tmp")
    os.replace("ckpt.tmp", "ckpt.pt")
    print(f"[检查点] 已保存 ckpt.pt（第 {步} 步）", flush=True)


def main():
    模型 = nn.Sequential(nn.Linear(24, 64), nn.Tanh(), nn.Linear(64, 1))
    优化器 = torch.optim.Adam(模型.parameters(), lr=3e-3)
    均值, 步, 回滚次数 = None, 0, 0
    print(f"开始训练，共 {总步数} 步", flush=True)
    while 步 < 总步数:
        步 += 1
        x, y = 取批次(步)
        损失 = ((模型(x) - y) ** 2).mean()
        值 = 损失.item()
        if 均值 is not None and 值 > 10 * 均值:
            回滚次数 += 1
            ck = torch.load("ckpt.pt")
            模型.load_state_dict(ck["model"])
            优化器.load_state_dict(ck["opt"])
            print(f"[警告] 第 {步} 步损失突增 {值:.2f}（均值 {均值:.4f}），第 {回滚次数} 次回滚到第 {ck['step']} 步",
                  flush=True)
            步, 均值 = ck["step"], ck["ema"]
            continue
        优化器.zero_grad()
        损失.backward()
        优化器.step()
        均值 = 值 if 均值 is None else 0.9 * 均值 + 0.1 * 值
        if 步 % 3 == 0:
            print(f"第 {步} 步 损失 {值:.4f} 学习率 {优化器.param_groups[0]['lr']:.1e}", flush=True)
        if 步 % 保存间隔 == 0:
            保存(步, 模型, 优化器, 均值)
    print("训练结束", flush=True)


if __name__ == "__main__":
    main()
