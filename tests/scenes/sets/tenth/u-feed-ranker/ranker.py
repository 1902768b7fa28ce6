import argparse
import os
import queue
import threading
import time

import torch
from torch import nn

ap = argparse.ArgumentParser()
ap.add_argument("--ckpt-dir", default="ckpt")
ap.add_argument("--steps", type=int, default=3000)
ap.add_argument("--every", type=int, default=50)
cfg = ap.parse_args()
torch.manual_seed(7)
USERS, ITEMS, DIM = 6000, 3000, 24


def log(level, text):
    print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {level} {text}", flush=True)


class Ranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.u, self.i = nn.Embedding(USERS, DIM), nn.Embedding(ITEMS, DIM)
        self.bias = nn.Embedding(ITEMS, 1)

    def forward(self, u, i):
        return (self.u(u) * self.i(i)).sum(1) / DIM**0.5 + self.bias(i).squeeze(1)


class Saver(threading.Thread):
    """训练不等待写盘"""

    def __init__(self):
        super().__init__(daemon=True)
        self.todo = queue.Queue(maxsize=2)
        self.start()

    def run(self):
        while True:
            step, state = self.todo.get()
            path = os.path.join(cfg.ckpt_dir, f"step_{step:06d}.pt")
            try:
                t = time.time()
                torch.save(state, path)
                log("INFO", f"检查点已保存 {path} ({os.path.getsize(path) / 2**20:.1f} MB, {time.time() - t:.2f}s)")
            except (OSError, RuntimeError) as e:
                log("ERROR", f"检查点保存失败 {path}: {e}")


def clone(x):
    if isinstance(x, torch.Tensor):
        return x.detach().clone()
    if isinstance(x, dict):
        return {k: clone(v) for k, v in x.items()}
    return [clone(v) for v in x] if isinstance(x, list) else x


model, saver = Ranker(), Saver()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
taste, topic = torch.randn(USERS, 4), torch.randn(ITEMS, 4)
popular = 3 * torch.randn(ITEMS)
log("INFO", f"用户 {USERS} 物品 {ITEMS} 参数 {sum(p.numel() for p in model.parameters()):,}")
total, t0 = 0.0, time.time()
for step in range(1, cfg.steps + 1):
    u, i = torch.randint(0, USERS, (256,)), torch.randint(0, ITEMS, (256,))
    y = ((taste[u] * topic[i]).sum(1) + popular[i] > 0).float()
    loss = nn.functional.binary_cross_entropy_with_logits(model(u, i), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    total += loss.item()
    time.sleep(0.07)
    if step % 20 == 0:
        log("INFO", f"步 {step}/{cfg.steps} 损失 {total / 20:.4f} 速度 {step * 256 / (time.time() - t0):.0f} 样本/秒")
        total = 0.0
    if step % cfg.every == 0:
        saver.todo.put((step, clone({"model": model.state_dict(), "opt": opt.state_dict(), "step": step})))
