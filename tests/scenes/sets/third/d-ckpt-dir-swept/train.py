import logging
import math
import os
import time

import torch
from torch import nn

os.makedirs("logs", exist_ok=True)
logging.basicConfig(filename="logs/train.log", level=logging.INFO, encoding="utf-8",
                    format="%(asctime)s [%(levelname)s] %(message)s", datefmt="%Y-%m-%d %H:%M:%S")
log = logging.getLogger("训练")
TOTAL, SAVE_EVERY = 500, 20


def save(model, opt, step):
    path = f"output/checkpoints/model_{step:05d}.pt"
    try:
        torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "step": step}, path)
        log.info("检查点已保存:%s", path)
    except Exception as err:
        log.warning("第 %d 步保存检查点失败,下次再试:%s: %s", step, type(err).__name__, err)


def main():
    torch.manual_seed(21)
    torch.set_num_threads(1)
    os.makedirs("output/checkpoints", exist_ok=True)
    model = nn.Sequential(nn.Linear(16, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 1))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    log.info("开始训练,共 %d 步,参数量 %d", TOTAL, sum(p.numel() for p in model.parameters()))
    began = time.time()
    for step in range(1, TOTAL + 1):
        x = torch.randn(128, 16)
        y = torch.sin(x[:, :4].sum(1, keepdim=True)) + 0.1 * torch.randn(128, 1)
        loss = nn.functional.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.38)
        if step % 5 == 0:
            left = (time.time() - began) / step * (TOTAL - step)
            log.info("第 %d/%d 步 损失 %.4f 剩余约 %d 分钟", step, TOTAL, loss.item(), math.ceil(left / 60))
        if step % SAVE_EVERY == 0:
            save(model, opt, step)
    log.info("训练完成")


if __name__ == "__main__":
    main()
