import logging
import time

import torch
from torch import nn
from tqdm import tqdm

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)-8s %(message)s")
log = logging.getLogger(__name__)
torch.set_num_threads(1)
torch.manual_seed(5)

model = nn.Sequential(nn.Linear(40, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 1))
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**24, growth_interval=60)
truth = torch.randn(40, 1)
bar = tqdm(range(1, 501), desc="train", mininterval=1.0)
skipped = 0
for step in bar:
    x = torch.randn(64, 40)
    with torch.autocast("cpu", dtype=torch.float16):
        loss = nn.functional.mse_loss(model(x), x @ truth / 4)
    opt.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    before = scaler.get_scale()
    scaler.step(opt)
    scaler.update()
    if scaler.get_scale() < before:
        skipped += 1
        log.warning("step %d: gradient overflow (grad_norm=%s), step skipped, reducing loss scale to %g", step, norm.item(), scaler.get_scale())
    if step % 20 == 0:
        bar.set_postfix(loss=f"{loss.item():.4f}", grad_norm=f"{norm.item():.3f}", scale=scaler.get_scale())
        log.info("step=%d loss=%.4f grad_norm=%.3f scale=%g skipped=%d", step, loss.item(), norm.item(), scaler.get_scale(), skipped)
    time.sleep(0.1)
torch.save(model.state_dict(), "model.pt")
log.info("finished, %d of 500 steps skipped", skipped)
