# -*- coding: utf-8 -*-
"""用 accelerate 训练小型对话分类模型,检查点写到 NAS。"""
import logging
import os
import time

import torch
import torch.nn as nn
from accelerate import Accelerator

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
logger = logging.getLogger("训练")

TOTAL, SAVE_EVERY = 420, 50


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.EmbeddingBag(500, 64)
        self.fc = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 6))

    def forward(self, x):
        return self.fc(self.emb(x))


def batch():
    y = torch.randint(0, 6, (32,))
    x = torch.randint(0, 80, (32, 12)) + y.unsqueeze(1) * 70
    return x, y


def save(acc, where):
    try:
        acc.save_state(where)
        logger.info("检查点已保存:%s", where)
    except Exception as e:
        # NAS 偶尔会抖动,不能因此中断训练
        logger.warning("检查点保存失败(%s),训练继续,下次再试", e)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    acc = Accelerator(cpu=True)
    model = Net()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model, opt = acc.prepare(model, opt)
    logger.info("开始训练,共 %d 步", TOTAL)
    for step in range(1, TOTAL + 1):
        x, y = batch()
        loss = nn.functional.cross_entropy(model(x), y)
        acc.backward(loss)
        opt.step()
        opt.zero_grad()
        time.sleep(0.25)
        if step % 10 == 0:
            logger.info("step %d/%d 损失 %.4f", step, TOTAL, loss.item())
        if step % SAVE_EVERY == 0:
            save(acc, f"nas/run1/step{step}")
    save(acc, "nas/run1/final")
    logger.info("训练结束")


if __name__ == "__main__":
    main()
