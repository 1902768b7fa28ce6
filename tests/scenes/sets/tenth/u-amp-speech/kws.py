import logging
import time

import torch
import torch.nn.functional as F
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(levelname).1s%(asctime)s.%(msecs)03d kws.py:%(lineno)d] %(message)s",
                    datefmt="%m%d %H:%M:%S")
log = logging.getLogger()
torch.manual_seed(0)
WORDS, MEL, T = 10, 24, 30
proto = torch.randn(WORDS, T, MEL)


def batch(n, g):
    y = torch.randint(0, WORDS, (n,), generator=g)
    return proto[y] + 2.2 * torch.randn(n, T, MEL, generator=g), y


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(MEL, 48)
        self.b = nn.Linear(48, 48)
        self.c = nn.Linear(48, WORDS)

    def forward(self, x):
        h = F.relu(self.b(F.relu(self.a(x)))).mean(1)
        return self.c(h)


net = Net()
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**24, growth_interval=90)
g, gv = torch.Generator().manual_seed(1), torch.Generator().manual_seed(2)
xv, yv = batch(400, gv)
STEPS = 420
log.info("mixed precision fp16, initial loss scale %.0f, %d steps", scaler.get_scale(), STEPS)
avg = None
skipped = 0
for step in range(1, STEPS + 1):
    x, y = batch(48, g)
    with torch.autocast("cpu", dtype=torch.float16):
        loss = F.cross_entropy(net(x), y)
    opt.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    before = scaler.get_scale()
    scaler.step(opt)
    scaler.update()
    if scaler.get_scale() < before:
        skipped += 1
        log.warning("step %d: gradient overflow (grad_norm=%s), skipping step, reducing loss scale to %.0f", step,
                    norm.item(), scaler.get_scale())
    avg = loss.item() if avg is None else 0.9 * avg + 0.1 * loss.item()
    time.sleep(0.07)
    if step % 20 == 0:
        log.info("step %4d/%d loss %.4f grad_norm %.3f scale %.0f skipped %d", step, STEPS, avg, norm, scaler.get_scale(),
                 skipped)
    if step % 140 == 0:
        with torch.no_grad():
            acc = (net(xv).argmax(1) == yv).float().mean().item()
        log.info("validation accuracy %.3f", acc)
        torch.save({"net": net.state_dict(), "scaler": scaler.state_dict(), "step": step}, f"kws-{step}.pt")
log.info("finished, %d of %d steps skipped by the scaler", skipped, STEPS)
