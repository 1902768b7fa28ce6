import argparse
import json
import os
import time

import torch
from torch.nn.functional import cross_entropy

from corpus import text

p = argparse.ArgumentParser()
p.add_argument("--name")
p.add_argument("--dim", type=int)
p.add_argument("--layers", type=int)
p.add_argument("--steps", type=int)
a = p.parse_args()
PACE = float(os.environ.get("PACE", 0.33))
torch.set_num_threads(1)
torch.manual_seed(1)
ids = torch.tensor(list(text(300_000, 1).encode()))
cut = len(ids) - 20_000
SEQ = 96


class LM(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = torch.nn.Embedding(256, a.dim)
        self.rnn = torch.nn.GRU(a.dim, a.dim, a.layers, batch_first=True)
        self.out = torch.nn.Linear(a.dim, 256)

    def forward(self, x):
        return self.out(self.rnn(self.emb(x))[0])


def batch(lo, hi, n=6):
    i = torch.randint(lo, hi - SEQ - 1, (n,))
    w = torch.stack([ids[k: k + SEQ + 1] for k in i])
    return w[:, :-1], w[:, 1:]


def loss_of(xy):
    return cross_entropy(net(xy[0]).flatten(0, 1), xy[1].flatten())


net = LM()
n = sum(q.numel() for q in net.parameters())
print(f"{a.name}: {n:,} parameters")
opt = torch.optim.AdamW(net.parameters(), 4e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, a.steps)
for s in range(1, a.steps + 1):
    t = time.time()
    loss = loss_of(batch(0, cut))
    opt.zero_grad()
    loss.backward()
    g = torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
    sched.step()
    time.sleep(PACE)
    print(f"{a.name} step={s} train_loss={loss.item():.4f} grad={g:.3f} lr={sched.get_last_lr()[0]:.2e} sec={time.time() - t:.2f}")
with torch.no_grad():
    v = sum(loss_of(batch(cut, len(ids))).item() for _ in range(10)) / 10
print(f"{a.name} validation_loss={v:.4f}")
torch.save(net.state_dict(), f"runs/{a.name}.pt")
json.dump({"params": n, "val": v}, open(f"runs/{a.name}.json", "w"))
