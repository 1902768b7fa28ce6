import logging
import os
import time

import torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s | %(levelname)-7s | %(name)s | %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger("finetune")
torch.set_num_threads(1)
torch.manual_seed(0)

CKPT = "scratch/ckpt"
KEEP_LAST = 2
os.makedirs(CKPT, exist_ok=True)

model = nn.Sequential(nn.Embedding(6000, 256), nn.Flatten(), nn.Linear(256 * 8, 256), nn.GELU(), nn.Linear(256, 8))
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
sched = torch.optim.lr_scheduler.LinearLR(opt, 0.1, 1.0, total_iters=40)


def sample(n=32):
    x = torch.randint(0, 6000, (n, 8))
    return x, x[:, 0] % 8


@torch.no_grad()
def evaluate():
    x, y = sample(64)
    return nn.functional.cross_entropy(model(x), y).item()


def rotate():
    kept = sorted((f for f in os.listdir(CKPT) if f.startswith("last-")))
    for name in kept[:-KEEP_LAST]:
        os.remove(os.path.join(CKPT, name))


best = float("inf")
log.info("parameters: %.2fM, checkpoints go to %s (keep last %d + best)", sum(p.numel() for p in model.parameters()) / 1e6, CKPT, KEEP_LAST)
for step in range(1, 2001):
    x, y = sample()
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    sched.step()
    time.sleep(0.12)
    if step % 10 == 0:
        log.info("step %d/2000 loss %.4f lr %.2e", step, loss.item(), sched.get_last_lr()[0])
    if step % 40 == 0:
        val = evaluate()
        state = {"model": model.state_dict(), "opt": opt.state_dict(), "step": step}
        torch.save(state, f"{CKPT}/last-{step:05d}.pt")
        rotate()
        log.info("eval step %d val_loss %.4f", step, val)
        if val < best or step % 80 == 0:
            best = min(best, val)
            torch.save(state, f"{CKPT}/best-{step:05d}-{val:.3f}.pt")
            log.info("new snapshot best-%05d", step)
