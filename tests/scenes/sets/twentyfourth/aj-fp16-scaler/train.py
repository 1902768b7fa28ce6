"""Small conv net in fp16 with a hand-written loop and a loss scaler (the recipe of the A100 run, here on CPU)."""
import logging
import time

import torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s | %(levelname)s | %(message)s")
log = logging.getLogger("train")
STEPS = 260


def batch(g, n=16):
    y = torch.randint(0, 4, (n,), generator=g)
    x = 2.0 * torch.randn(n, 1, 12, 12, generator=g)
    for i, k in enumerate(y.tolist()):
        x[i, 0, 3 * k : 3 * k + 3, :] += 0.9
    return x, y


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    g = torch.Generator().manual_seed(1)
    net = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(800, 32), nn.ReLU(), nn.Linear(32, 4))
    opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**24, growth_interval=30)
    skipped = 0
    for step in range(1, STEPS + 1):
        x, y = batch(g)
        with torch.autocast("cpu", dtype=torch.float16):
            logits = net(x)
        loss = nn.functional.cross_entropy(logits.float(), y)
        opt.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        before = scaler.get_scale()
        scaler.step(opt)
        scaler.update()
        time.sleep(0.33)
        if scaler.get_scale() < before:
            skipped += 1
            log.warning("step %d: gradient overflow (norm %s), step skipped, loss scale %g -> %g", step, norm.item(), before, scaler.get_scale())
        if step % 5 == 0:
            log.info("step %d/%d loss %.4f grad_norm %.3f scale %g skipped %d", step, STEPS, loss.item(), norm.item(), scaler.get_scale(), skipped)
        if step % 60 == 0:
            torch.save({"net": net.state_dict(), "scaler": scaler.state_dict()}, f"step_{step:04d}.pt")
            log.info("saved step_%04d.pt", step)
    log.info("finished: %d of %d steps skipped by the scaler", skipped, STEPS)


if __name__ == "__main__":
    main()
