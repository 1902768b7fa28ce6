# -*- coding: utf-8 -*-
"""小型手写识别模型：每 100 步保存一次，只保留最近 3 个检查点。"""
import argparse
import glob
import os
import time

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--ckpt-dir", default="ckpt")
parser.add_argument("--total", type=int, default=1600)
parser.add_argument("--save-every", type=int, default=100)
parser.add_argument("--keep", type=int, default=3)
args = parser.parse_args()


def say(msg):
    print(time.strftime("[%H:%M:%S] ") + msg, flush=True)


def batch(proto, n=48):
    y = torch.randint(0, 10, (n,))
    x = proto[y] + 0.9 * torch.randn(n, 1, 16, 16)
    return x, y


def save(step, model, opt):
    path = os.path.join(args.ckpt_dir, f"step_{step}.pt")
    tmp = path + ".tmp"
    torch.save({"step": step, "model": model.state_dict(), "opt": opt.state_dict()}, tmp)
    os.replace(tmp, path)
    say(f"已保存检查点 {path}")
    # 清理：只保留最近的几个
    old = sorted(glob.glob(os.path.join(args.ckpt_dir, "step_*.pt")))[:-args.keep]
    for p in old:
        os.remove(p)
        say(f"清理旧检查点 {p}")


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    os.makedirs(args.ckpt_dir, exist_ok=True)
    proto = torch.randn(10, 1, 16, 16)
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(16 * 16, 10),
    )
    opt = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.total)
    say(f"开始训练，共 {args.total} 步，参数量 {sum(p.numel() for p in model.parameters())}")
    correct = seen = 0
    for step in range(1, args.total + 1):
        x, y = batch(proto)
        out = model(x)
        loss = nn.functional.cross_entropy(out, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        time.sleep(0.055)
        correct += (out.argmax(1) == y).sum().item()
        seen += len(y)
        if step % 20 == 0:
            say(f"第 {step} 步  损失 {loss.item():.4f}  准确率 {100 * correct / seen:.2f}%  学习率 {sched.get_last_lr()[0]:.5f}")
            correct = seen = 0
        if step % args.save_every == 0:
            save(step, model, opt)
    say("训练结束")


if __name__ == "__main__":
    main()
