import argparse
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from_ckpt = "gcn.ckpt"
parser = argparse.ArgumentParser("gcn")
parser.add_argument("--steps", type=int)
parser.add_argument("--save-every", type=int)
cfg = parser.parse_args()


def note(msg):
    print(f"[rank{dist.get_rank()}] {time.strftime('%m-%d %H:%M:%S')} {msg}", file=sys.stderr, flush=True)


class GCN(nn.Module):
    def __init__(self, d_in, d, classes):
        super().__init__()
        self.w1, self.w2 = nn.Linear(d_in, d), nn.Linear(d, classes)

    def forward(self, adj, x):
        return self.w2(adj @ torch.relu(self.w1(adj @ x)))


def graph(g, n=60, classes=4):
    y = torch.randint(0, classes, (n,), generator=g)
    p = torch.where(y[:, None] == y[None], 0.3, 0.03)
    a = (torch.rand(n, n, generator=g) < p).float()
    a = ((a + a.T) > 0).float() + torch.eye(n)
    x = nn.functional.one_hot(y, 16).float() + torch.randn(n, 16, generator=g)
    return a / a.sum(1, keepdim=True), x, y


def save_checkpoint(model, opt, step):
    if dist.get_rank() == 0:
        note(f"saving checkpoint at step {step}")
        torch.save({"model": model.module.state_dict(), "opt": opt.state_dict(), "step": step}, from_ckpt)
        dist.barrier()


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = DDP(GCN(16, 32, 4))
    opt = torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=5e-4)
    g = torch.Generator().manual_seed(100 + dist.get_rank())
    note(f"world size {dist.get_world_size()}, {sum(p.numel() for p in model.parameters())} parameters")
    t0 = time.time()
    for step in range(1, cfg.steps + 1):
        a, x, y = graph(g)
        logits = model(a, x)
        loss = nn.functional.cross_entropy(logits, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.15)
        if step % 10 == 0:
            m = torch.tensor([loss.item(), (logits.argmax(1) == y).float().mean().item()])
            dist.all_reduce(m)
            if dist.get_rank() == 0:
                loss_avg, acc = (m / dist.get_world_size()).tolist()
                note(f"step {step}/{cfg.steps} loss {loss_avg:.4f} acc {acc:.3f} {step / (time.time() - t0):.2f} it/s")
        if step % cfg.save_every == 0:
            save_checkpoint(model, opt, step)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
