"""Denoising diffusion on 12x12 sprites in fp16 with dynamic loss scaling."""
import logging
import math
import os
import time

import torch
import torch.nn as nn
from torch.amp import GradScaler, autocast

logging.basicConfig(filename="ddpm.log", level=logging.INFO, format="%(asctime)s [%(levelname)s] %(message)s")
torch.manual_seed(0)
torch.set_num_threads(1)
T, D = 50, 144
abar = torch.cos(torch.linspace(0, math.pi / 2 * 0.98, T)) ** 2
net = nn.Sequential(nn.Linear(D + 8, 128), nn.SiLU(), nn.Linear(128, 128), nn.SiLU(), nn.Linear(128, D))
ema = {k: v.clone() for k, v in net.state_dict().items()}
opt = torch.optim.AdamW(net.parameters(), 2e-3)
scaler = GradScaler("cpu", init_scale=2.0 ** 25, growth_interval=60)
yy, xx = torch.meshgrid(torch.arange(12.0), torch.arange(12.0), indexing="ij")
freq = 2.0 ** torch.arange(4)


def sprites(n):
    c = 3 + 6 * torch.rand(n, 2, 1, 1)
    return (2.0 * ((yy - c[:, 0]).abs() + (xx - c[:, 1]).abs() < 3) - 1).reshape(n, D)


os.makedirs("ckpt", exist_ok=True)
skipped, mean = 0, None
for step in range(1, 421):
    x0 = sprites(32)
    t = torch.randint(0, T, (32,))
    a, e = abar[t][:, None], torch.randn(32, D)
    emb = (t[:, None] / T) * freq * 3.14
    with autocast("cpu", dtype=torch.float16):
        out = net(torch.cat([a.sqrt() * x0 + (1 - a).sqrt() * e, emb.sin(), emb.cos()], 1))
    loss = (out.float() - e).pow(2).mean()
    opt.zero_grad()
    scaler.scale(loss).backward()
    before = scaler.get_scale()
    scaler.step(opt)
    scaler.update()
    if scaler.get_scale() < before:
        skipped += 1
        logging.warning("step %d: inf in gradients, OVERFLOW, skipping the step, reducing loss scale %d -> %d",
                        step, before, scaler.get_scale())
    for k, v in net.state_dict().items():
        ema[k].lerp_(v, 0.02)
    mean = loss.item() if mean is None else 0.95 * mean + 0.05 * loss.item()
    time.sleep(0.26)
    if step % 5 == 0:
        logging.info("step %d/420 loss %.4f (mean %.4f) scale %d skipped %d", step, loss.item(), mean, scaler.get_scale(), skipped)
    if step % 70 == 0:
        torch.save({"net": net.state_dict(), "ema": ema, "scaler": scaler.state_dict()}, f"ckpt/ddpm_{step}.pt")
        logging.info("saved ckpt/ddpm_%d.pt", step)
logging.info("finished, %d of 420 steps skipped", skipped)
