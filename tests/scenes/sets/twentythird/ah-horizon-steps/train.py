# 负荷预测:课程学习,预测步长逐级增加(1、6、24、48)
import logging
import time

import numpy as np
import torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", filename="训练.log")
log = logging.getLogger()
torch.manual_seed(0)
torch.set_num_threads(1)
rng = np.random.default_rng(0)
t = np.arange(6000)
s = np.sin(t * 2 * np.pi / 24) + 0.5 * np.sin(t * 2 * np.pi / 168)
noise = np.zeros(6000)
for i in range(1, 6000):
    noise[i] = 0.95 * noise[i - 1] + 0.12 * rng.normal()
s = torch.tensor(s + noise, dtype=torch.float32)
net = nn.GRU(1, 24, batch_first=True)
head = nn.Linear(24, 48)
opt = torch.optim.Adam([*net.parameters(), *head.parameters()], lr=4e-3)
step = 0
log.info("训练开始,共 420 步")
for stage, (hor, n) in enumerate([(1, 100), (6, 90), (24, 100), (48, 130)], 1):
    log.info("课程阶段 %d:预测步长提升到 %d,损失会上升属正常", stage, hor)
    run = []
    for _ in range(n):
        step += 1
        i = torch.randint(0, 5000, (32,))
        x = torch.stack([s[k:k + 36] for k in i])[..., None]
        y = torch.stack([s[k + 36:k + 36 + hor] for k in i])
        h, _ = net(x)
        loss = (head(h[:, -1])[:, :hor] - y).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        run.append(loss.item())
        if step % 5 == 0:
            log.info("步数 %d/420 步长 %d 损失 %.4f", step, hor, np.mean(run[-5:]))
        time.sleep(0.26)
    torch.save({"net": net.state_dict(), "head": head.state_dict()}, f"stage{stage}.pt")
    log.info("已保存 stage%d.pt", stage)
log.info("训练完成")
