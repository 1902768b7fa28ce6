# -*- coding: utf-8 -*-
import logging
import math
import sys
import time

import torch
import yaml
from torch import nn

日志 = logging.getLogger("训练")
logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="[%(asctime)s] %(message)s", datefmt="%Y-%m-%d %H:%M:%S")


class Attn(nn.Module):
    """手写的注意力。"""

    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(d, d) for _ in range(3))
        self.o = nn.Linear(d, d)

    def forward(self, x):
        s = torch.exp(self.q(x) @ self.k(x).transpose(1, 2) / math.sqrt(x.shape[-1]))
        return x + self.o((s / s.sum(-1, keepdim=True)) @ self.v(x))


class Model(nn.Module):
    def __init__(self, vocab, d):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.a, self.b = Attn(d), Attn(d)
        self.head = nn.Linear(d, vocab)

    def forward(self, x):
        return self.head(self.b(self.a(self.emb(x))))


def batch(cfg, g):
    x = torch.randint(0, cfg["vocab"] // 2, (cfg["batch"], 12), generator=g)
    y = torch.randint(0, cfg["vocab"], x.shape, generator=g)
    return x, torch.where(torch.rand(x.shape, generator=g) < cfg["noise"], y, (x * 2) % cfg["vocab"])


def main():
    cfg = yaml.safe_load(open("conf.yaml"))
    torch.manual_seed(7)
    torch.set_num_threads(1)
    g = torch.Generator().manual_seed(1)
    model = Model(cfg["vocab"], cfg["d_model"])
    opt = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.9)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: cfg["lr_max"] * min(1.0, (s + 1) / cfg["warmup"]) ** 2)
    日志.info("配置: %s", cfg)
    日志.info("模型参数量: %d", sum(p.numel() for p in model.parameters()))
    日志.info("开始训练,共 %d 步", cfg["steps"])
    t0 = time.time()
    for step in range(1, cfg["steps"] + 1):
        x, y = batch(cfg, g)
        loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        time.sleep(0.08)
        if step % 10 == 0:
            日志.info("第 %d/%d 步 | 损失: %.4f | 学习率: %.3e | 用时: %.1f 秒", step, cfg["steps"], loss.item(), sched.get_last_lr()[0], time.time() - t0)
        if step % 100 == 0:
            torch.save({"step": step, "model": model.state_dict()}, "last.pt")
            日志.info("检查点已保存: last.pt")
    日志.info("训练完成")


if __name__ == "__main__":
    main()
