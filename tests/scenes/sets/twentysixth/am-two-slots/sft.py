"""Supervised fine-tuning of a small decoder, picks up from last.pt in its run folder if there is one."""
import argparse
import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

p = argparse.ArgumentParser()
p.add_argument("--run", required=True)
p.add_argument("--steps", type=int, default=100)
p.add_argument("--seed", type=int, default=0)
a = p.parse_args()
os.makedirs(a.run, exist_ok=True)
torch.manual_seed(a.seed)
torch.set_num_threads(1)
V, L = 120, 20
table = torch.randint(0, V, (V, 3), generator=torch.Generator().manual_seed(2))
emb, rnn, out = nn.Embedding(V, 64), nn.GRU(64, 128, batch_first=True), nn.Linear(128, V)
net = nn.ModuleList([emb, rnn, out])
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
start, last = 0, os.path.join(a.run, "last.pt")
if os.path.exists(last):
    ck = torch.load(last)
    net.load_state_dict(ck["net"])
    opt.load_state_dict(ck["opt"])
    start = ck["step"]
log = open(os.path.join(a.run, "train.log"), "a", buffering=1)
log.write(f"starting at step {start}\n")
for step in range(start + 1, a.steps + 1):
    x = torch.empty(16, L, dtype=torch.long)
    x[:, 0] = torch.randint(0, V, (16,))
    for t in range(1, L):
        x[:, t] = table[x[:, t - 1], torch.randint(0, 3, (16,))]
    h, _ = rnn(emb(x[:, :-1]))
    loss = F.cross_entropy(out(h).flatten(0, 1), x[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.35)
    if step % 5 == 0:
        log.write(f"{time.strftime('%H:%M:%S')} step {step}/{a.steps} loss {loss.item():.4f} ppl {loss.exp().item():.2f}\n")
    if step % 40 == 0 or step == a.steps:
        torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "step": step}, last)
        log.write(f"{time.strftime('%H:%M:%S')} saved {last} at step {step}\n")
