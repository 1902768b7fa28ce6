import random
import time

import torch
import torch.nn.functional as F

from net import QA, sample

torch.manual_seed(0)
m, rng = QA(), random.Random(0)
opt = torch.optim.Adam(m.parameters(), lr=2e-3)
for step in range(1, 241):
    x, y = sample(rng, 32)
    loss = F.cross_entropy(m(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.33)
    if step % 8 == 0:
        print(f"train: step={step} loss={loss.item():.4f}", flush=True)
    if step % 80 == 0:
        torch.save(m.state_dict(), "qa.pt")
        print("train: saved qa.pt", flush=True)
