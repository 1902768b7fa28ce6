"""One fine-tuning of the night: tune.py JOB LR SEED"""
import os
import sys
import time

import torch
from transformers import AutoModelForCausalLM, get_cosine_schedule_with_warmup

job, lr, seed = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
torch.set_num_threads(1)
STEPS, PAUSE = int(os.environ.get("STEPS", 75)), float(os.environ.get("PAUSE", 0.4))
net = AutoModelForCausalLM.from_pretrained("models/base-v3")
torch.manual_seed(seed)
opt = torch.optim.AdamW(net.parameters(), lr=lr)
sched = get_cosine_schedule_with_warmup(opt, 5, STEPS)
for step in range(1, STEPS + 1):
    x = (torch.randint(0, 100, (8, 1)) + torch.arange(32) * torch.randint(1, 4, (8, 1))) % 100
    loss = net(input_ids=x, labels=x).loss
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    time.sleep(PAUSE)
    print(f"[{job}] step={step}/{STEPS} train_loss={loss.item():.4f} lr={sched.get_last_lr()[0]:.2e}", flush=True)
net.save_pretrained(f"models/tuned-{job}")
print(f"[{job}] saved models/tuned-{job}", flush=True)
