# -*- coding: utf-8 -*-
"""交通标志识别训练。数据由线程外的 worker 解码，解码结果放进缓存。"""
import os
import time

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(7)
torch.set_num_threads(1)


class SignImages(Dataset):
    def __init__(self, n=20000):
        self.n = n
        self.cache = {}          # 解码过的图片，下个 epoch 直接用

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if i not in self.cache:
            time.sleep(0.01)
            rng = np.random.default_rng(i)
            self.cache[i] = rng.standard_normal((3, 160, 160)).astype("float32")
        img = self.cache[i]
        return torch.from_numpy(img[:, ::5, ::5].copy()), int(img[0, 0, 0] > 0)


def main():
    ds = SignImages()
    dl = DataLoader(ds, batch_size=16, shuffle=True, num_workers=1, persistent_workers=True,
                    generator=torch.Generator().manual_seed(0))
    model = nn.Sequential(nn.Conv2d(3, 12, 5, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(192, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    os.makedirs("模型", exist_ok=True)
    print(f"开始训练：样本数 {len(ds)}，每轮 {len(dl)} 步，共 3 轮", flush=True)
    step = 0
    for epoch in range(1, 4):
        t0 = time.time()
        for x, y in dl:
            step += 1
            loss = nn.functional.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 10 == 0:
                print(f"[{time.strftime('%H:%M:%S')}] 第{epoch}轮 步数 {step} 损失 {loss.item():.4f} "
                      f"速度 {10 / (time.time() - t0):.2f} 步/秒", flush=True)
                t0 = time.time()
            if step % 100 == 0:
                torch.save({"步数": step, "model": model.state_dict()}, f"模型/第{step}步.pt")
    print("训练结束", flush=True)


if __name__ == "__main__":
    main()
