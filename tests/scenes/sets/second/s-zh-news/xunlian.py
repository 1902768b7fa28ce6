import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import logging
import sys
import time
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(3)
logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s [%(levelname)s] %(message)s",
                    datefmt="%Y-%m-%d %H:%M:%S")
log = logging.getLogger("xunlian")

总步数 = 620
预热 = 30
衰减 = 0.98


def lr_lambda(step):
    if step < 预热:
        return (step + 1) / 预热
    return 衰减 ** -(step - 预热)      # 预热之后指数衰减


def 数据(n=4000):
    g = torch.Generator().manual_seed(11)
    w = torch.randn(40, 8, generator=g)
    x = torch.randn(n, 40, generator=g)
    y = (x @ w + 0.5 * torch.randn(n, 8, generator=g)).argmax(1)
    return x, y


def main():
    x, y = 数据()
    模型 = nn.Sequential(nn.Linear(40, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 8))
    优化器 = torch.optim.Adam(模型.parameters(), lr=1e-3)
    调度 = torch.optim.lr_scheduler.LambdaLR(优化器, lr_lambda)
    log.info("新闻分类 开始训练，样本数 %d，总步数 %d", len(x), 总步数)
    均值, t0 = 0.0, time.time()
    for step in range(1, 总步数 + 1):
        idx = torch.randint(0, len(x), (64,))
        loss = nn.functional.cross_entropy(模型(x[idx]), y[idx])
        优化器.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(模型.parameters(), 1.0)
        优化器.step()
        调度.step()
        均值 += loss.item() / 10
        time.sleep(0.11)
        if step % 10 == 0:
            log.info("轮次 %d 步数 %d/%d 损失 %.4f 学习率 %.2e 速度 %.1f 步/秒", step * 64 // len(x) + 1, step, 总步数,
                     均值, 优化器.param_groups[0]["lr"], 10 / (time.time() - t0))
            均值, t0 = 0.0, time.time()
        if step % 150 == 0:
            os.makedirs("模型", exist_ok=True)
            torch.save(模型.state_dict(), f"模型/步数{step}.pt")
            log.info("已保存模型 步数%d", step)
    log.info("训练结束")


main()
