import os
import random
import sys
import time

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel

PATIENCE = 3
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
random.seed(rank)


def say(*words):
    print(f"{time.strftime('%m-%d %H:%M:%S')} | r{rank} |", *words, flush=True)


class Acoustic(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(20, 32, 5, stride=2, padding=2)
        self.rnn = nn.LSTM(32, 32, batch_first=True)
        self.out = nn.Linear(32, 15)

    def forward(self, x):
        return self.out(self.rnn(self.conv(x).relu().transpose(1, 2))[0]).log_softmax(-1)


phones = torch.randn(15, 20)


def batch(n=8):
    target = torch.randint(1, 15, (n, 6))
    x = phones[target].repeat_interleave(8, 1).transpose(1, 2)
    return x + torch.randn_like(x) * 1.2, target


def ctc(net, x, target):
    p = net(x).transpose(0, 1)
    return nn.functional.ctc_loss(p, target, torch.full((len(target),), p.shape[0]), torch.full((len(target),), 6))


model = DistributedDataParallel(Acoustic())
opt = torch.optim.AdamW(model.parameters(), lr=float(sys.argv[1]))
held = batch(24)
best, bad, done, epoch = 1e9, 0, False, 0
torch.manual_seed(100 + rank)
while not done and epoch < 60:
    epoch += 1
    for it in range(12):
        loss = ctc(model, *batch())
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        time.sleep(0.18)
        if it % 4 == 3 and rank == 0:
            say(f"ep {epoch:02d} it {it + 1:02d}/12 ctc {loss.item():.3f}")
    if rank == 0:
        with torch.no_grad():
            val = ctc(model.module, *held).item()
        bad = 0 if val < best - 0.04 else bad + 1
        best = min(best, val)
        say(f"ep {epoch:02d} val ctc {val:.3f} best {best:.3f}")
        if bad >= PATIENCE:
            say(f"no better since {bad} epochs, training ends here")
            done = True
dist.barrier()
if rank == 0:
    os.makedirs("exp", exist_ok=True)
    torch.save(model.module.state_dict(), "exp/final.pt")
    say("wrote exp/final.pt")
dist.destroy_process_group()
