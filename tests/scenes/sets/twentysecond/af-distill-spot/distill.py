"""Distils a large teacher into a small student; resumable for spot instances."""
import datetime
import glob
import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from loguru_like import logger

torch.set_num_threads(1)
torch.manual_seed(11)
TOTAL = 300
teacher = nn.Sequential(nn.Linear(32, 96), nn.Tanh(), nn.Linear(96, 10))
for p in teacher.parameters():
    p.requires_grad_(False).mul_(2.0)
student = nn.Sequential(nn.Linear(32, 24), nn.ReLU(), nn.Linear(24, 10))
opt = torch.optim.AdamW(student.parameters(), 5e-4)

run = os.path.join("runs", datetime.datetime.now().strftime("%Y%m%d-%H%M%S"))
os.makedirs(run, exist_ok=True)
step = 0
old = sorted(glob.glob(os.path.join(run, "step_*.pt")))
if old:
    d = torch.load(old[-1])
    student.load_state_dict(d["student"])
    opt.load_state_dict(d["opt"])
    step = d["step"]
    logger.info(f"resumed from {old[-1]} at step {step}")
else:
    logger.info(f"no checkpoint in {run}, starting from step 0")

while step < TOTAL:
    step += 1
    for _ in range(4):
        x = torch.randn(128, 32)
        loss = F.kl_div(F.log_softmax(student(x) / 2, -1), F.softmax(teacher(x) / 2, -1), reduction="batchmean") * 4
        opt.zero_grad()
        loss.backward()
        opt.step()
    time.sleep(0.35)
    if step % 3 == 0:
        logger.info(f"step {step:4d}/{TOTAL} kd_loss {loss.item():.4f}")
    if step % 30 == 0:
        torch.save({"student": student.state_dict(), "opt": opt.state_dict(), "step": step}, os.path.join(run, f"step_{step:05d}.pt"))
        logger.info(f"checkpoint {run}/step_{step:05d}.pt")
logger.info("distillation complete")
