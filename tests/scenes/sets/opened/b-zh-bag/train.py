# -*- coding: utf-8 -*-
"""小型情感分类训练;日志按大小轮转。"""
import logging
import os
import time
from logging.handlers import RotatingFileHandler

os.environ.setdefault("OMP_NUM_THREADS", "1")
import torch
import torch.nn as nn

handler = RotatingFileHandler("train.log", maxBytes=3000, backupCount=2, encoding="utf-8")
handler.setFormatter(logging.Formatter("%(asctime)s [%(levelname)s] %(message)s"))
log = logging.getLogger("训练")
log.setLevel(logging.INFO)
log.addHandler(handler)

torch.manual_seed(0)
EPOCHS, PER = 6, 50
score = torch.randn(500)
net = nn.Sequential(nn.EmbeddingBag(500, 32), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.AdamW(net.parameters(), lr=5e-3)
log.info("开始训练,共 %d 轮,每轮 %d 步", EPOCHS, PER)
best = 0.0
for epoch in range(1, EPOCHS + 1):
    for i in range(1, PER + 1):
        x = torch.randint(0, 500, (64, 20))
        y = (score[x].sum(1) > 0).long()
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.25)
        if i % 2 == 0:
            log.info("轮次 %d/%d 步数 %d/%d 损失 %.4f 学习率 5.0e-03 梯度 %.3f", epoch, EPOCHS, i, PER, loss.item(),
                     sum(p.grad.norm().item() for p in net.parameters()))
    with torch.no_grad():
        x = torch.randint(0, 500, (512, 20))
        acc = (net(x).argmax(1) == (score[x].sum(1) > 0).long()).float().mean().item()
    if acc <= best:
        log.warning("轮次 %d 验证准确率 %.4f 未提升(最佳 %.4f)", epoch, acc, best)
    else:
        best = acc
        torch.save(net.state_dict(), "best.pt")
        log.info("轮次 %d 验证准确率 %.4f,已保存 best.pt", epoch, acc)
log.info("训练完成,最佳准确率 %.4f", best)
