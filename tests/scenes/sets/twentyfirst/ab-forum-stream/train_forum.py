import json
import math
import os
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
V, B, PERIOD = 64, 12, 70
vocab = {}


class LM(nn.Module):
    def __init__(self, d=48):
        super().__init__()
        self.e = nn.Embedding(V, d)
        self.r = nn.GRU(d, d, batch_first=True)
        self.o = nn.Linear(d, V)

    def forward(self, x):
        return self.o(self.r(self.e(x))[0])


m = LM()
opt = torch.optim.SGD(m.parameters(), lr=1.0, momentum=0.9)
sched = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, PERIOD, eta_min=0.01)
buf, step, bad, n = [], 0, 0, 0
os.makedirs("lm", exist_ok=True)
for line in sys.stdin:
    n += 1
    try:
        words = json.loads(line)["text"].split()
    except (json.JSONDecodeError, KeyError) as e:
        bad += 1
        print(f"WARNING line {n}: {type(e).__name__}: {e}; skipped ({bad} so far, {100 * bad / n:.2f} %)", flush=True)
        continue
    buf.append(torch.tensor([vocab.setdefault(w, len(vocab) + 1) for w in words]))
    if len(buf) < B:
        continue
    x = nn.utils.rnn.pad_sequence(buf, batch_first=True)
    buf = []
    loss = F.cross_entropy(m(x[:, :-1]).reshape(-1, V), x[:, 1:].reshape(-1), ignore_index=0)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(m.parameters(), 0.5)
    opt.step()
    lr = sched.get_last_lr()[0]
    sched.step()
    step += 1
    time.sleep(0.35)
    if step % 5 == 0:
        print(f"step {step:4d} lr {lr:.4f} loss {loss.item():.4f} ppl {math.exp(loss.item()):.2f}", flush=True)
    if step % PERIOD == 0:
        torch.save(m.state_dict(), f"lm/cycle{step // PERIOD}.pt")
        print(f"end of cycle {step // PERIOD}, saved lm/cycle{step // PERIOD}.pt, learning rate restarts", flush=True)
print(f"end of stream: {step} steps, {n} lines, {bad} skipped")
