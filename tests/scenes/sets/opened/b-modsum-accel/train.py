import os
import time

import torch
import torch.nn as nn
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset

with open("train.pid", "w") as f:
    f.write(str(os.getpid()))
acc = Accelerator(cpu=True, gradient_accumulation_steps=2)
set_seed(5)
x = torch.randint(0, 100, (2400, 12))
y = (x.sum(1) % 5)
model = nn.Sequential(nn.Embedding(100, 16), nn.Flatten(), nn.Linear(192, 64), nn.ReLU(), nn.Linear(64, 5))
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
model, opt, loader = acc.prepare(model, opt, DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True))
acc.print(f"***** Running training *****\n  Num examples = {len(x)}\n  Num Epochs = 2\n  Gradient Accumulation steps = 2")
step = 0
for epoch in range(2):
    for xb, yb in loader:
        with acc.accumulate(model):
            loss = nn.functional.cross_entropy(model(xb), yb)
            acc.backward(loss)
            opt.step()
            opt.zero_grad()
        step += 1
        time.sleep(0.3)
        if step % 5 == 0:
            print(f"epoch {epoch} step {step} loss {loss.item():.4f}", flush=True)
    acc.save_state(f"state_{epoch}")
acc.print("training finished")
