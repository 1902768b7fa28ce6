# -*- coding: utf-8 -*-
# 由 notebook 导出：机械臂抓取图像分类
import queue
import threading
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
批大小 = 16
总步数 = 900


class 抓取网络(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 8, 3, stride=2)
        self.c2 = nn.Conv2d(8, 16, 3, stride=2)
        self.fc = nn.Linear(16 * 5 * 5, 3)

    def forward(self, x):
        x = F.relu(self.c1(x))
        x = F.relu(self.c2(x))
        return self.fc(x.flatten(1))


def 读数据(q):
    rng = np.random.default_rng(7)
    记录 = [{"kuan": int(w), "lei": int(c)} for w, c in zip(rng.integers(24, 25, 5000), rng.integers(0, 3, 5000))]
    记录[3210]["kuan"] = 23  # 相机在那天换过一次设置
    for i in range(0, len(记录), 批大小):
        图, 标 = [], []
        for r in 记录[i:i + 批大小]:
            im = rng.normal(size=(24, r["kuan"])).astype(np.float32) + r["lei"] * 0.08
            图.append(im)
            标.append(r["lei"])
        q.put((torch.from_numpy(np.stack(图))[:, None], torch.tensor(标)))


q = queue.Queue(maxsize=4)
threading.Thread(target=读数据, args=(q,), daemon=True, name="prefetch").start()

模型 = 抓取网络()
优化器 = torch.optim.SGD(模型.parameters(), lr=0.02, momentum=0.9)
print(f"开始训练，共 {总步数} 步", flush=True)
for 步 in range(1, 总步数 + 1):
    x, y = q.get()
    输出 = 模型(x)
    损失 = F.cross_entropy(输出, y)
    优化器.zero_grad()
    损失.backward()
    优化器.step()
    time.sleep(0.15)
    if 步 % 5 == 0:
        准确率 = (输出.argmax(1) == y).float().mean().item()
        print(f"{time.strftime('%H:%M:%S')} 第{步:4d}步 损失={损失.item():.4f} 准确率={准确率:.2f}", flush=True)
torch.save(模型.state_dict(), "zhuaqu.pt")
print("训练完成", flush=True)
