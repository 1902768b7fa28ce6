import json
import os
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
V, B = 256, 10


class LM(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.e = nn.Embedding(V, d)
        self.r = nn.GRU(d, d, batch_first=True)
        self.o = nn.Linear(d, V)

    def forward(self, x):
        return self.o(self.r(self.e(x))[0])


m = LM()
opt = torch.optim.AdamW(m.parameters(), lr=2e-3)
os.makedirs("snapshots", exist_ok=True)
buf, it, tokens, t0 = [], 0, 0, time.time()
for line in sys.stdin:
    buf.append(torch.tensor(json.loads(line)["input_ids"]))
    if len(buf) < B:
        continue
    x = nn.utils.rnn.pad_sequence(buf, batch_first=True)
    buf = []
    loss = F.cross_entropy(m(x[:, :-1]).reshape(-1, V), x[:, 1:].reshape(-1), ignore_index=0)
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.4)
    it += 1
    tokens += x.numel()
    if it % 5 == 0:
        print(f"iter {it:5d} | loss {loss.item():7.4f} | {tokens / (time.time() - t0):6.0f} tok/s | {tokens} tokens", flush=True)
    if it % 50 == 0:
        torch.save(m.state_dict(), f"snapshots/iter{it:05d}.pt")
        print(f"snapshot snapshots/iter{it:05d}.pt", flush=True)
print("stream at its end")
