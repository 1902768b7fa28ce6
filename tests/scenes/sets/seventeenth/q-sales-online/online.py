# -*- coding: utf-8 -*-
"""销量预测：增量训练（PyTorch 主干，样本去重）"""
import logging
import time

import numpy as np
import torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s [%(levelname)s] %(message)s")
torch.set_num_threads(1)
torch.manual_seed(6)
rng = np.random.default_rng(6)
net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.Adam(net.parameters(), 2e-3)
w = rng.normal(size=64) / 8
recent = np.empty((0, 64), "float32")  # 最近见过的样本


def fresh(batch, seen):
    """去掉与历史样本太接近的行。"""
    keep = []
    for row in batch:
        far = all(np.abs(seen[k:k + 8] - row).max() > 1e-6 for k in range(0, len(seen), 8))
        if far:
            keep.append(row)
    return np.array(keep)


logging.info("开始增量训练，共 3000 步")
mark = time.time()
for step in range(1, 3001):
    batch = rng.normal(size=(16, 64)).astype("float32")
    # 第 150 步起接入门店历史回放
    if step == 150:
        logging.info("接入历史回放缓冲区")
        recent = rng.normal(size=(90000, 64)).astype("float32")
    batch = fresh(batch, recent)
    x = torch.from_numpy(batch)
    y = torch.from_numpy((batch @ w)[:, None].astype("float32"))
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.12)
    if step % 5 == 0:
        now = time.time()
        logging.info("步数 %d/3000 损失 %.4f 吞吐 %.2f 样本/秒", step, loss.item(), 80 / (now - mark))
        mark = now
