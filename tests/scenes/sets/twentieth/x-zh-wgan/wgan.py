# -*- coding: utf-8 -*-
import time

import torch
from rich.console import Console
from rich.table import Table
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)
屏 = Console(width=90)

G = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
D = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
og = torch.optim.Adam(G.parameters(), lr=2e-4, betas=(0.0, 0.9))
od = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.0, 0.9))


def 真实(n):
    t = torch.rand(n) * 6.283
    return torch.stack([2 * t.cos(), 2 * t.sin()], 1) + 0.05 * torch.randn(n, 2)


def 梯度惩罚(a, b):
    m = (torch.rand(len(a), 1) * (a - b) + b).requires_grad_()
    (g,) = torch.autograd.grad(D(m).sum(), m, create_graph=True)
    return ((g.norm(dim=1) - 1) ** 2).mean()


def 轮(n):
    for _ in range(40):
        for _ in range(5):
            x, z = 真实(64), G(torch.randn(64, 8)).detach()
            ld = D(z).mean() - D(x).mean() + 10 * 梯度惩罚(x, z)
            od.zero_grad()
            ld.backward()
            od.step()
        lg = -D(G(torch.randn(64, 8))).mean()
        og.zero_grad()
        lg.backward()
        og.step()
        time.sleep(0.03)
    return ld.item(), lg.item()


def main():
    屏.print("[bold]WGAN-GP[/bold] 训练开始,共 32 轮")
    for n in range(1, 33):
        ld, lg = 轮(n)
        屏.print(f"轮次 {n:>2}/32  判别器损失 {ld:+.4f}  生成器损失 {lg:+.4f}")
        if n % 8 == 0:
            样本 = G(torch.randn(512, 8)).detach()
            表 = Table("指标", "值", title=f"第 {n} 轮评估")
            表.add_row("平均半径", f"{样本.norm(dim=1).mean():.3f}")
            表.add_row("半径标准差", f"{样本.norm(dim=1).std():.3f}")
            屏.print(表)
            torch.save({"G": G.state_dict(), "D": D.state_dict(), "epoch": n}, f"wgan_{n:02d}.pt")
            屏.print(f"已保存 wgan_{n:02d}.pt")
    屏.print("训练结束")


if __name__ == "__main__":
    main()
