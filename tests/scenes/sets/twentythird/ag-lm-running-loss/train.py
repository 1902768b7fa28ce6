"""Byte language model; prints the mean loss of the epoch from a running sum."""
import os
import resource
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from tqdm import tqdm

torch.manual_seed(0)
V, T, B, D = 64, 128, 32, 96
os.makedirs("ckpt", exist_ok=True)
net = nn.Sequential(nn.Embedding(V, D), nn.Linear(D, 2 * D), nn.GELU(), nn.Linear(2 * D, D), nn.LayerNorm(D), nn.Linear(D, V))
opt = torch.optim.AdamW(net.parameters(), 1e-3)
print("address space limit:", resource.getrlimit(resource.RLIMIT_AS)[0] // 2**20, "MiB")
STEPS = 400
running = 0.0
bar = tqdm(range(1, STEPS + 1), mininterval=2, desc="epoch 1")
for step in bar:
    s = torch.randint(0, V, (B, 1))
    x = (s + torch.arange(T + 1) * torch.randint(1, 3, (B, 1))) % V
    loss = F.cross_entropy(net(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
    opt.zero_grad()
    loss.backward(retain_graph=True)
    opt.step()
    running = running + loss
    bar.set_postfix(loss=f"{float(running.detach()) / step:.4f}", refresh=False)
    if step % 50 == 0:
        torch.save(net.state_dict(), f"ckpt/lm-{step}.pt")
        rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        bar.write(f"step {step} mean loss {float(running.detach()) / step:.4f} rss {rss} MiB, saved ckpt/lm-{step}.pt")
    time.sleep(0.25)
print("done")
