"""Monocular depth, fp16 mixed precision with a gradient scaler."""
import logging
import time

import torch
from torch import nn

logging.basicConfig(level=logging.DEBUG, format="%(asctime)s.%(msecs)03d %(name)s %(levelname)-7s %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger("depth.train")
EPOCHS, STEPS = 6, 40


def batch(g):
    d = torch.rand(8, 1, 1, 1, generator=g) * 6 + torch.linspace(0, 4, 24).view(1, 1, 24, 1).expand(8, 1, 24, 24)
    shade = 1 / (1 + d)
    return torch.cat([shade, shade ** 2, shade + 0.02 * torch.randn(d.shape, generator=g)], 1), d


def silog(pred, d):
    e = torch.log(pred.float().clamp(min=1e-3)) - torch.log(d + 0.1)
    return (e.pow(2).mean() - 0.5 * e.mean().pow(2) + 1e-6).sqrt()


torch.manual_seed(21)
g = torch.Generator().manual_seed(21)
net = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.GELU(), nn.Conv2d(12, 12, 3, padding=1), nn.GELU(), nn.Conv2d(12, 1, 1), nn.Softplus())
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 22, growth_interval=60)
skipped = step = 0
log.info("%d parameters, initial loss scale %g", sum(p.numel() for p in net.parameters()), scaler.get_scale())
for epoch in range(EPOCHS):
    for _ in range(STEPS):
        x, d = batch(g)
        with torch.autocast("cpu", dtype=torch.float16):
            pred = net(x)
        loss = silog(pred, d)
        opt.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        before = scaler.get_scale()
        scaler.step(opt)
        scaler.update()
        step += 1
        if scaler.get_scale() < before:
            skipped += 1
            log.warning("Gradient overflow (grad_norm=%s). Skipping step, reducing loss scale to %g", norm.item(), scaler.get_scale())
        time.sleep(0.22)
        if step % 5 == 0:
            log.info("epoch=%d step=%d silog=%.4f grad_norm=%.3f scale=%g", epoch, step, loss.item(), norm, scaler.get_scale())
    torch.save({"net": net.state_dict(), "scaler": scaler.state_dict(), "opt": opt.state_dict()}, "depth.ckpt")
    log.debug("checkpoint depth.ckpt written")
log.info("finished: %d steps, %d skipped", step, skipped)
