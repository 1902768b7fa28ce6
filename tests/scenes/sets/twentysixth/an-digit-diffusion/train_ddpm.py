"""8x8 手写数字上的小型 DDPM"""
import logging
import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
import yaml
from sklearn.datasets import load_digits

torch.manual_seed(0)
torch.set_num_threads(1)
logging.basicConfig(level=logging.INFO, format="[%(asctime)s] %(message)s", filename="diffusion.log")
log = logging.getLogger()
cfg = yaml.safe_load(open("config.yaml"))
T = cfg["timesteps"]
beta = torch.linspace(1e-4, 0.06, T)
abar = torch.cumprod(1 - beta, 0)
data = torch.tensor(load_digits().data, dtype=torch.float32) / 8 - 1


class Eps(nn.Module):
    def __init__(self):
        super().__init__()
        self.t = nn.Embedding(T, 64)
        self.i, self.h, self.o = nn.Linear(64, 256), nn.Linear(256, 256), nn.Linear(256, 64)
        self.p = nn.Linear(64, 256)

    def forward(self, x, t):
        h = F.silu(self.i(x) + self.p(self.t(t)))
        return self.o(F.silu(self.h(h)) + h)


net, ema = Eps(), Eps()
ema.load_state_dict(net.state_dict())
opt = torch.optim.Adam(net.parameters(), lr=cfg["stage1"]["lr"])
os.makedirs("ckpt", exist_ok=True)
log.info("开始训练: %d 张图片, 共 %d 步, 设备 cpu", len(data), cfg["steps"])
mean = 0.0
for step in range(1, cfg["steps"] + 1):
    if step == cfg["stage1"]["until"] + 1:
        for g in opt.param_groups:
            g["lr"] = cfg["stage2"]["lr"]
        log.info("进入第二阶段: 学习率 %g", cfg["stage2"]["lr"])
    total = 0.0
    for _ in range(4):
        x = data[torch.randint(len(data), (cfg["batch"],))]
        t = torch.randint(T, (len(x),))
        e = torch.randn_like(x)
        noisy = abar[t].sqrt()[:, None] * x + (1 - abar[t]).sqrt()[:, None] * e
        loss = F.mse_loss(net(noisy, t), e)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() / 4
    with torch.no_grad():
        for a, b in zip(ema.parameters(), net.parameters()):
            a.lerp_(b, 1 - cfg["ema"])
    time.sleep(0.26)
    if step % 5 == 0:
        log.info("步 %d/%d 损失 %.4f 学习率 %.2g", step, cfg["steps"], total, opt.param_groups[0]["lr"])
    if step % 50 == 0:
        torch.save({"step": step, "net": net.state_dict(), "ema": ema.state_dict()}, "ckpt/ddpm.pt")
        log.info("已保存 ckpt/ddpm.pt")
log.info("训练结束")
