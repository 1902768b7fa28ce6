"""Segmentation toy with a cache of decoded pictures on a RAM disk; the cache takes all there is and evicts its oldest."""
import errno
import io
import logging
import os
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="[%(asctime)s] %(levelname)s %(name)s - %(message)s")
log = logging.getLogger("seg")
CACHE, STEPS, PICTURES = Path("cache"), 270, 900


def picture(n):
    """Stands for the slow decoding of a large TIFF."""
    rng = np.random.default_rng(n)
    img = rng.normal(0, 0.4, (160, 160)).astype(np.float32)
    r, c = rng.integers(10, 110, 2)
    img[r : r + 40, c : c + 40] += 1.0
    mask = np.zeros((160, 160), np.float32)
    mask[r : r + 40, c : c + 40] = 1.0
    return np.stack([img, mask])


def cached(n):
    path = CACHE / f"{n:05d}.npy"
    if path.exists():
        return np.load(path)
    x = picture(n)
    tmp = path.with_suffix(".tmp")
    try:
        buf = io.BytesIO()
        np.save(buf, x)
        tmp.write_bytes(buf.getvalue())
        os.replace(tmp, path)
    except OSError as e:
        if e.errno != errno.ENOSPC:
            raise
        tmp.unlink(missing_ok=True)
        old = sorted(CACHE.glob("*.npy"), key=lambda p: p.stat().st_mtime)[:24]
        for p in old:
            p.unlink()
        log.info("cache full (%s), evicted the %d oldest", e.strerror, len(old))
    return x


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    rng = np.random.default_rng(3)
    net = nn.Sequential(nn.Conv2d(1, 4, 5, padding=2), nn.ReLU(), nn.Conv2d(4, 1, 5, padding=2))
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for step in range(1, STEPS + 1):
        pair = torch.from_numpy(np.stack([cached(int(n)) for n in rng.integers(0, PICTURES, 2)]))
        x, y = pair[:, :1, ::2, ::2], pair[:, 1:, ::2, ::2]
        loss = nn.functional.binary_cross_entropy_with_logits(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.33)
        if step % 5 == 0:
            s = os.statvfs(CACHE)
            used = 100 * (1 - s.f_bavail / s.f_blocks)
            log.info("step %d/%d loss %.4f cache %.0f%% of %.0f MB", step, STEPS, loss.item(), used, s.f_blocks * s.f_frsize / 2**20)
        if step % 60 == 0:
            torch.save(net.state_dict(), f"seg_{step:04d}.pt")
            log.info("saved seg_%04d.pt", step)
    log.info("done")


if __name__ == "__main__":
    main()
