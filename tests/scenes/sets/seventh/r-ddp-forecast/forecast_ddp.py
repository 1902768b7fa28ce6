"""Two-process load forecasting, torchrun + gloo."""
import logging
import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

CKPT = Path("checkpoints")
KEEP = 3
EVERY = 30
STEPS = 295


def save(model, opt, step, log):
    CKPT.mkdir(exist_ok=True)
    path = CKPT / f"ckpt_step{step}.pt"
    torch.save({"model": model.module.state_dict(), "opt": opt.state_dict(), "step": step}, path)
    log.info("saved checkpoint %s (%.2f MB)", path, path.stat().st_size / 1e6)
    # only the newest few stay on the box
    for old in sorted(CKPT.glob("ckpt_step*.pt"))[:-KEEP]:
        old.unlink()


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING,
                        format=f"[%(asctime)s][rank{rank}][%(levelname)s] %(message)s")
    log = logging.getLogger("forecast")
    torch.manual_seed(5)
    net = DDP(nn.Sequential(nn.Linear(168, 256), nn.GELU(), nn.Linear(256, 256), nn.GELU(), nn.Linear(256, 24)))
    opt = torch.optim.AdamW(net.parameters(), lr=5e-4)
    g = torch.Generator().manual_seed(100 + rank)
    hours = torch.arange(192) / 24 * 6.2832
    log.info("world size %d, %d steps, checkpoint every %d, keep last %d", dist.get_world_size(), STEPS, EVERY, KEEP)
    t0 = time.time()
    for step in range(1, STEPS + 1):
        phase = torch.rand(16, 1, generator=g) * 6.28
        series = torch.sin(hours + phase) + 0.3 * torch.sin(hours / 7 + phase) + 0.1 * torch.randn(16, 192, generator=g)
        loss = nn.functional.mse_loss(net(series[:, :168]), series[:, 168:])
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.4)
        if step % 10 == 0:
            log.info("step %d/%d  mse %.4f  %.2f it/s", step, STEPS, loss.item(), step / (time.time() - t0))
        if step % EVERY == 0 and rank == 0:
            save(net, opt, step, log)
    if rank == 0:
        log.info("training done in %.0f s", time.time() - t0)
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
