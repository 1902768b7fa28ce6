"""两卡分布式训练示例（gloo）。"""
import os
import time

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

EPOCHS, STEPS = 6, 50


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    net = DDP(nn.Sequential(nn.Linear(28, 96), nn.ReLU(), nn.Linear(96, 6)), find_unused_parameters=True)
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, EPOCHS)
    w = torch.randn(28, 6)
    torch.manual_seed(50 + rank)
    if rank == 0:
        print(f"开始训练：共 {EPOCHS} 轮，进程数 {world}", flush=True)
    for epoch in range(1, EPOCHS + 1):
        total, t0 = 0.0, time.time()
        for _ in range(STEPS):
            x = torch.randn(32, 28)
            loss = nn.functional.cross_entropy(net(x), (x @ w).argmax(1))
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
            time.sleep(0.2)
        sched.step()
        if rank == 0:
            print(f"第 {epoch}/{EPOCHS} 轮  平均损失 {total / STEPS:.4f}  学习率 {opt.param_groups[0]['lr']:.5f}  "
                  f"用时 {time.time() - t0:.1f} 秒", flush=True)
            os.makedirs("ckpt", exist_ok=True)
            torch.save(net.module.state_dict(), f"ckpt/epoch{epoch}.pth")
        dist.barrier()
    if rank == 0:
        torch.save(net.module.state_dict(), "ckpt/final.pth")
        print("训练完成，模型已保存到 ckpt/final.pth", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
