"""Instruction tuning in fp16 with dynamic loss scaling (messages as apex had them)."""
import os
import time

import torch
import torch.nn as nn

torch.manual_seed(0)
torch.set_num_threads(1)


class LM(nn.Module):
    def __init__(self, v=256, d=64):
        super().__init__()
        self.emb = nn.Embedding(v, d)
        self.ff = nn.Sequential(nn.Linear(d, 128), nn.GELU(), nn.Linear(128, d))
        self.out = nn.Linear(d, v)

    def forward(self, x):
        h = self.emb(x)
        return self.out(h + self.ff(h))


model = LM()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**32, growth_interval=60)
os.makedirs("out", exist_ok=True)
skipped = 0
for step in range(1, 321):
    x = (torch.randint(0, 256, (8, 1)) + torch.arange(33) * 5) % 256
    with torch.autocast("cpu", dtype=torch.float16):
        logits = model(x[:, :-1])
        loss = nn.functional.cross_entropy(logits.reshape(-1, 256), x[:, 1:].reshape(-1))
    opt.zero_grad()
    scaler.scale(loss).backward()
    before = scaler.get_scale()
    scaler.unscale_(opt)
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(opt)
    scaler.update()
    if scaler.get_scale() < before:
        skipped += 1
        print(f"Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to {scaler.get_scale()}", flush=True)
    if step % 10 == 0 or step < 20:
        print(f"step {step} loss {loss.item():.4f} grad_norm {norm.item():.3f} skipped {skipped}", flush=True)
    if step % 100 == 0:
        torch.save(model.state_dict(), f"out/step{step}.pt")
        print(f"saved out/step{step}.pt", flush=True)
    time.sleep(0.25)
print("training complete", flush=True)
