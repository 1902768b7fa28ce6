"""Half-precision fine-tuning of a small encoder with a dynamic loss scale."""
import logging
import os
import time

import torch
import torch.nn as nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger()
torch.manual_seed(0)
os.makedirs("ckpt", exist_ok=True)
net = nn.Sequential(nn.Embedding(64, 64), nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 64), nn.LayerNorm(64), nn.Linear(64, 4))
opt = torch.optim.AdamW(net.parameters(), 2e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**22, growth_interval=25)
TOTAL, skipped, ema = 360, 0, None
log.info("fp16 autocast, initial loss scale %.0f, growth every 25 good steps", scaler.get_scale())
for step in range(1, TOTAL + 1):
    x = torch.randint(0, 64, (16, 12))
    y = (x == 7).sum(1).clamp(max=3)
    with torch.autocast("cpu", dtype=torch.float16):
        out = net(x).mean(1)
        loss = nn.functional.cross_entropy(out.float(), y)
    opt.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    gn = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    before = scaler.get_scale()
    scaler.step(opt)
    scaler.update()
    if scaler.get_scale() < before:
        skipped += 1
        log.warning("step %d: Gradient overflow (grad norm %s). Skipping step, loss scale %.0f -> %.0f", step, gn.item(), before, scaler.get_scale())
    ema = loss.item() if ema is None else 0.95 * ema + 0.05 * loss.item()
    time.sleep(0.3)
    if step % 10 == 0:
        log.info("step %d/%d loss %.4f scale %.0f skipped %d", step, TOTAL, ema, scaler.get_scale(), skipped)
    if step % 60 == 0:
        torch.save({"net": net.state_dict(), "scaler": scaler.state_dict()}, f"ckpt/step{step}.pt")
        log.info("checkpoint ckpt/step%d.pt", step)
log.info("finished, %d of %d steps skipped for overflow", skipped, TOTAL)
