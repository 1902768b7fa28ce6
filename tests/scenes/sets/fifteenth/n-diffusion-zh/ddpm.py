# -*- coding: utf-8 -*-
"""二维扩散模型 (瑞士卷), 训练后采样"""
import argparse
import logging
import math
import os
import time

import torch
import torch.nn as nn

logging.basicConfig(format="%(asctime)s [%(levelname)s] %(message)s", level=logging.INFO)
T = 120


class Eps(nn.Module):
    def __init__(self, h=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, h), nn.SiLU(), nn.Linear(h, h), nn.SiLU(), nn.Linear(h, 2))

    def forward(self, x, t):
        f = t[:, None] / T * math.pi * torch.tensor([1.0, 2.0, 4.0, 8.0])
        return self.net(torch.cat([x, f.sin(), f.cos()], 1))


def roll(n):
    a = 1.5 * math.pi * (1 + 2 * torch.rand(n))
    return torch.stack([a * a.cos(), a * a.sin()], 1) / 8 + 0.03 * torch.randn(n, 2)


@torch.no_grad()
def sample(net, ab, beta, n=256):
    x = torch.randn(n, 2)
    for t in reversed(range(T)):
        e = net(x, torch.full((n,), float(t)))
        x = (x - beta[t] / (1 - ab[t]).sqrt() * e) / (1 - beta[t]).sqrt()
        if t:
            x = x + beta[t].sqrt() * torch.randn_like(x)
        time.sleep(0.2)
    return x


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=300)
    p.add_argument("--sample-every", type=int, default=150)
    a = p.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    os.makedirs("结果", exist_ok=True)
    beta = torch.linspace(1e-4, 0.05, T)
    ab = (1 - beta).cumprod(0)
    net = Eps()
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    logging.info("开始训练，共 %d 步，参数量 %d", a.steps, sum(q.numel() for q in net.parameters()))
    for step in range(1, a.steps + 1):
        x0, t = roll(128), torch.randint(0, T, (128,))
        e = torch.randn_like(x0)
        xt = ab[t].sqrt()[:, None] * x0 + (1 - ab[t]).sqrt()[:, None] * e
        loss = (net(xt, t.float()) - e).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.12)
        if step % 10 == 0:
            logging.info("步数 %d/%d 损失 %.4f", step, a.steps, loss.item())
        if step % a.sample_every == 0:
            torch.save(net.state_dict(), f"结果/模型_{step}.pt")
            logging.info("正在采样 (DDPM %d 步)...", T)
            s = sample(net, ab, beta)
            torch.save(s, f"结果/样本_{step}.pt")
            logging.info("采样完成，均值 %.3f 标准差 %.3f", s.mean().item(), s.std().item())
    logging.info("训练完成")


main()
