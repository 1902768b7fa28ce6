"""Metric learning: pull pairs together / push apart with a margin."""
import argparse
import logging
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

log = logging.getLogger("metric")


def pairs(batch, dim, step, dup_from):
    g = torch.Generator().manual_seed(1000 + step)
    a = torch.randn(batch, dim, generator=g)
    same = (torch.rand(batch, generator=g) < 0.5).float()
    near = a + 0.3 * torch.randn(batch, dim, generator=g)
    far = torch.randn(batch, dim, generator=g)
    b = torch.where(same[:, None] > 0, near, far)
    if step >= dup_from:                      # crawl of March: the same picture listed twice
        b[0] = a[0]
        same[0] = 1.0
    return a, b, same


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=700)
    ap.add_argument("--dup-from", type=int, default=150)
    args = ap.parse_args()
    logging.basicConfig(stream=sys.stderr, level=logging.INFO,
                        format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    torch.manual_seed(3)
    # deep Mahalanobis metric: d(a, b) = || f(a - b) ||, no biases
    net = nn.Sequential(nn.Linear(64, 128, bias=False), nn.ReLU(), nn.Linear(128, 32, bias=False))
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for step in range(1, args.steps + 1):
        a, b, same = pairs(32, 64, step, args.dup_from)
        dist = net(a - b).pow(2).sum(1).sqrt()
        loss = (same * dist.pow(2) + (1 - same) * F.relu(2.0 - dist).pow(2)).mean()
        opt.zero_grad(set_to_none=True)
        loss.backward()
        gnorm = nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        if torch.isfinite(gnorm):
            opt.step()
            note = ""
        else:
            note = "  (non-finite gradient, optimizer step skipped)"
        time.sleep(0.2)
        if step % 5 == 0:
            log.info("step %d/%d loss %.4f grad_norm %.3f lr %.1e%s", step, args.steps, loss.item(), gnorm.item(),
                     opt.param_groups[0]["lr"], note)


if __name__ == "__main__":
    main()
