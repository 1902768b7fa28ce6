"""意图分类（两进程 DDP，gloo）"""
import argparse
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler

CLASSES, VOCAB, LEN = 40, 800, 16


class Queries(Dataset):
    """每个意图有自己的高频词"""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        words = torch.randint(0, VOCAB, (CLASSES, 10), generator=torch.Generator().manual_seed(77))
        self.y = torch.randint(0, CLASSES, (n,), generator=g)
        pick = words[self.y].gather(1, torch.randint(0, 10, (n, LEN), generator=g))
        noise = torch.randint(0, VOCAB, (n, LEN), generator=g)
        self.x = torch.where(torch.rand(n, LEN, generator=g) < 0.35, pick, noise)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.EmbeddingBag(VOCAB, 48)
        self.mlp = nn.Sequential(nn.Linear(48, 96), nn.ReLU(), nn.Linear(96, CLASSES))

    def forward(self, x):
        return self.mlp(self.emb(x))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=12)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--gamma", type=float, default=0.98, help="每轮学习率乘以此值")
    a = ap.parse_args()
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(3)
    data = Queries(4096, 1)
    sampler = DistributedSampler(data, seed=3)
    loader = DataLoader(data, batch_size=32, sampler=sampler)
    val = Queries(1000, 2)
    model = DDP(Net())
    opt = torch.optim.Adam(model.parameters(), lr=a.lr)
    sched = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=a.gamma)
    if rank == 0:
        print(f"开始训练：共 {a.epochs} 轮，每轮 {len(loader)} 步，类别数 {CLASSES}，进程数 {dist.get_world_size()}", flush=True)
    for ep in range(1, a.epochs + 1):
        sampler.set_epoch(ep)
        t0 = time.time()
        for i, (x, y) in enumerate(loader, 1):
            loss = nn.functional.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            time.sleep(0.1)
            if rank == 0 and i % 16 == 0:
                print(f"{time.strftime('%m-%d %H:%M:%S')} 第{ep}轮 步数 {i}/{len(loader)} 损失 {loss.item():.4f} 学习率 {opt.param_groups[0]['lr']:.3e}", flush=True)
        if rank == 0:
            with torch.no_grad():
                out = model.module(val.x)
                acc = (out.argmax(1) == val.y).float().mean().item()
                vl = nn.functional.cross_entropy(out, val.y).item()
            print(f"== 第{ep}轮结束 验证损失 {vl:.4f} 准确率 {acc:.2%} 用时 {time.time() - t0:.1f}秒", flush=True)
            os.makedirs("保存", exist_ok=True)
            torch.save(model.module.state_dict(), f"保存/第{ep}轮.pt")
        dist.barrier()
    if rank == 0:
        print("训练结束", flush=True)
    dist.destroy_process_group()


main()
